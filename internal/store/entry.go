package store

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// longestEntry is what no call's entry in the intake is longer than.
const longestEntry = 64 << 20

// packEntry is a call as the intake has it: its length and its checksum, as 4 bytes each, little endian, and then what a call is
// at its acceptance, each with its length in front.
func packEntry(r *control.Record) []byte {
	b := make([]byte, 8, 256)
	for _, text := range entryTexts(r) {
		b = append(binary.AppendUvarint(b, uint64(len(*text))), *text...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(r.State))), r.State...)
	b = binary.AppendVarint(b, r.Accepted.UnixMicro())
	binary.LittleEndian.PutUint32(b, uint32(len(b)-8))
	binary.LittleEndian.PutUint32(b[4:], crc32.ChecksumIEEE(b[8:]))
	return b
}

func entryTexts(r *control.Record) []*string {
	return []*string{&r.ID, &r.ReqID, &r.Principal, &r.Agent, &r.Digest, &r.Instance, &r.Skill, &r.Door}
}

// unpackEntry reads the entry that b begins with, and returns how long it is: 0 where it is not whole.
func unpackEntry(b []byte) (r control.Record, n int) {
	if len(b) < 8 {
		return r, 0
	}
	size := binary.LittleEndian.Uint32(b)
	if size > longestEntry || int64(size) > int64(len(b)-8) {
		return r, 0
	}
	body := b[8 : 8+size]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[4:]) {
		return r, 0
	}
	var state string
	for _, text := range append(entryTexts(&r), &state) {
		length, m := binary.Uvarint(body)
		if m <= 0 || length > uint64(len(body)-m) {
			return r, 0
		}
		*text = string(body[m : m+int(length)])
		body = body[m+int(length):]
	}
	at, m := binary.Varint(body)
	if m <= 0 {
		return r, 0
	}
	r.State, r.Accepted = control.State(state), time.UnixMicro(at)
	return r, 8 + int(size)
}
