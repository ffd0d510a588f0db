package wall

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A data line as this package writes it: head, id, mid, base64, tail. Such lines are the bulk of a tunnel's traffic.
const (
	dataHead = `{"type":"` + TypeData + `","id":`
	dataMid  = `,"data":"`
	dataTail = `"}`
)

// CheckPort accepts a port's name: small letters, digits, ".", "-" and "_", at most 64 bytes.
func CheckPort(name string) error {
	bad := strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_'
	})
	if bad || name == "" || len(name) > maxPort {
		return fmt.Errorf("bad port name %.80q: expected small letters, digits, ., - and _, at most %d", name, maxPort)
	}
	return nil
}

// DecodeOpen reads an open line and checks its port's name.
func DecodeOpen(line []byte) (Open, error) {
	o, err := parseLine(line, TypeOpen)
	if err != nil {
		return Open{}, err
	}
	v := Open{Type: TypeOpen}
	if err := errors.Join(need(o, "id", "an integer from 1", &v.ID), need(o, "port", "a string", &v.Port)); err != nil {
		return Open{}, oneLine(err)
	}
	if v.ID == 0 {
		return Open{}, errors.New("id: expected an integer from 1")
	}
	return v, CheckPort(v.Port)
}

// DecodeData reads a data line. [Tunnel.Handle] does without the copy that this makes.
func DecodeData(line []byte) (Data, error) {
	id, text, err := cutData(line)
	if err != nil {
		return Data{}, err
	}
	v := Data{Type: TypeData, ID: id}
	n := rawLen(text)
	if n > DataChunk {
		return Data{}, fmt.Errorf("data: %d bytes, at most %d are allowed", n, DataChunk)
	}
	v.Data = make([]byte, n)
	if got, err := base64.StdEncoding.Decode(v.Data, text); err != nil || got != n {
		return Data{}, errBase64
	}
	return v, nil
}

// DecodeCredit reads a credit line; its N is from 1 to [Window].
func DecodeCredit(line []byte) (Credit, error) {
	o, err := parseLine(line, TypeCredit)
	if err != nil {
		return Credit{}, err
	}
	v := Credit{Type: TypeCredit}
	if err := errors.Join(need(o, "id", "an integer", &v.ID), need(o, "n", "an integer", &v.N)); err != nil {
		return Credit{}, oneLine(err)
	}
	if v.N <= 0 || v.N > Window {
		return Credit{}, fmt.Errorf("n: expected 1 to %d", Window)
	}
	return v, nil
}

// DecodeClose reads a close line; its error is cut to 300 bytes.
func DecodeClose(line []byte) (Close, error) {
	o, err := parseLine(line, TypeClose)
	if err != nil {
		return Close{}, err
	}
	v := Close{Type: TypeClose}
	err = errors.Join(
		need(o, "id", "an integer", &v.ID),
		optional(o, "half", "true or false", &v.Half),
		optional(o, "error", "a string", &v.Error),
	)
	if err != nil {
		return Close{}, oneLine(err)
	}
	v.Error = clipReason(v.Error)
	return v, nil
}

// plainData takes apart a data line in the form in which this package writes it. text need not be valid base64, but holds
// nothing that could end the string.
func plainData(line []byte) (id uint64, text []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(dataHead))
	if !ok {
		return 0, nil, false
	}
	digits := bytes.IndexByte(rest, ',')
	if digits < 1 || digits > 20 || rest[0] == '0' && digits > 1 {
		return 0, nil, false
	}
	id, err := strconv.ParseUint(string(rest[:digits]), 10, 64)
	if err != nil {
		return 0, nil, false
	}
	rest, ok = bytes.CutPrefix(rest[digits:], []byte(dataMid))
	if !ok {
		return 0, nil, false
	}
	rest, ok = bytes.CutSuffix(rest, []byte(dataTail))
	if !ok || !isBase64(rest) {
		return 0, nil, false
	}
	return id, rest, true
}

// inBase64 are the characters that base64 text may have.
var inBase64 = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") {
		set[c] = true
	}
	return set
}()

func isBase64(text []byte) bool {
	for _, c := range text {
		if !inBase64[c] {
			return false
		}
	}
	return true
}

// cutData takes any data line apart. The base64 text is not decoded yet; it aliases the line where it can.
func cutData(line []byte) (id uint64, text []byte, err error) {
	if id, text, ok := plainData(line); ok {
		return id, text, checkPadding(text)
	}
	o, err := parseLine(line, TypeData)
	if err != nil {
		return 0, nil, err
	}
	var s string
	if err := errors.Join(need(o, "id", "an integer", &id), need(o, "data", "base64", &s)); err != nil {
		return 0, nil, oneLine(err)
	}
	text = []byte(s)
	if !isBase64(text) {
		return 0, nil, errBase64
	}
	return id, text, checkPadding(text)
}

func checkPadding(text []byte) error {
	if len(text)%4 != 0 {
		return errBase64
	}
	return nil
}

// rawLen is how many bytes padded base64 text stands for.
func rawLen(text []byte) int {
	n := len(text) / 4 * 3
	for i := 1; i <= 2 && i <= len(text) && text[len(text)-i] == '='; i++ {
		n--
	}
	return n
}
