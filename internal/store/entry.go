package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hotcell/hotcell/internal/control"
)

// longestEntry is what no call's entry in the intake is longer than.
const longestEntry = 8 << 20

var errLongEntry = errors.New("what is to be journalled of the call is longer than 8 MiB")

// entry is a call at its acceptance, as the intake has it and as it becomes a row.
type entry struct {
	id, reqID, principal, agent, digest, instance, view string

	accepted int64 // microseconds since the Unix epoch
	end      int64 // where it ends in the file; 0: it is not in this one
}

// requestKey is what tells apart requests.
type requestKey struct{ reqID, principal, agent string }

func (e *entry) key() requestKey { return requestKey{e.reqID, e.principal, e.agent} }

func entryOf(r *control.Record) (entry, error) {
	view, err := encode(r.Call)
	return entry{
		id: r.ID, reqID: r.ReqID, principal: r.Principal, agent: r.Agent, digest: r.Digest, instance: r.Instance, view: string(view),
		accepted: r.Accepted.UnixMicro(),
	}, err
}

func (e *entry) texts() []*string {
	return []*string{&e.id, &e.reqID, &e.principal, &e.agent, &e.digest, &e.instance, &e.view}
}

// entryHead are the bytes before an entry's body: its length and its checksum, as 4 bytes each, little endian.
const entryHead = 8

// pack is the entry's bytes. The body has each text with its length in front, and when the call was accepted.
func (e *entry) pack() ([]byte, error) {
	b := make([]byte, entryHead, 512)
	for _, text := range e.texts() {
		b = append(binary.AppendUvarint(b, uint64(len(*text))), *text...)
	}
	b = binary.AppendVarint(b, e.accepted)
	if len(b)-entryHead > longestEntry {
		return nil, errLongEntry
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-entryHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.ChecksumIEEE(b[entryHead:]))
	return b, nil
}

// unpackEntry reads the entry that b begins with, and returns how long it is: 0 where it is not whole.
func unpackEntry(b []byte) (e entry, n int) {
	if len(b) < entryHead {
		return entry{}, 0
	}
	size := binary.LittleEndian.Uint32(b)
	if size > longestEntry || int(size) > len(b)-entryHead {
		return entry{}, 0
	}
	body := b[entryHead : entryHead+int(size)]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[4:]) {
		return entry{}, 0
	}
	for _, text := range e.texts() {
		length, m := binary.Uvarint(body)
		if m <= 0 || length > uint64(len(body)-m) {
			return entry{}, 0
		}
		*text, body = string(body[m:m+int(length)]), body[m+int(length):]
	}
	at, m := binary.Varint(body)
	if m <= 0 || m != len(body) {
		return entry{}, 0
	}
	e.accepted = at
	return e, entryHead + int(size)
}
