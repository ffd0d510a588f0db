package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// The first bytes of what is hashed or sealed, so that one kind of thing is never taken for another.
const (
	rowDomain  = "hotcell audit row 1"
	useDomain  = "hotcell audit use 1"
	rowSeal    = "row"
	headSeal   = "head"
	startSeal  = "start"
	keyIDBytes = 4
)

// Link makes r the row behind a head: it sets the number, the hashes and, with a key, the seal.
func Link(r *control.AuditRow, head control.AuditHead, key Key) {
	row(r)
	r.At = r.At.UTC().Truncate(time.Microsecond)
	r.N, r.Prev = head.N+1, head.Hash
	r.Hash = Hash(r)
	r.Seal = key.seal(rowSeal, r.N, r.Hash)
}

// Hash returns the sha-256 of a row's canonical bytes: a domain, number and time in microseconds as 8 bytes each, and then each
// text, the data and the hash of the row before, each behind its length as 8 bytes.
func Hash(r *control.AuditRow) control.Sum {
	b := make([]byte, 0, 512+len(r.Data))
	b = field(b, []byte(rowDomain))
	b = binary.BigEndian.AppendUint64(b, uint64(r.N))
	b = binary.BigEndian.AppendUint64(b, uint64(r.At.UnixMicro()))
	for _, s := range []string{r.Kind, r.Call, r.Principal, r.Agent, r.Door, r.Skill} {
		b = field(b, []byte(s))
	}
	sum := sha256.Sum256(field(field(b, r.Data), r.Prev))
	return sum[:]
}

// HashUse returns the hash of one thing that a call used, behind that of what it used before.
func HashUse(call string, nth int64, at time.Time, kind string, data, prev []byte) control.Sum {
	b := make([]byte, 0, 256+len(data))
	b = field(b, []byte(useDomain))
	b = binary.BigEndian.AppendUint64(b, uint64(nth))
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMicro()))
	sum := sha256.Sum256(field(field(field(field(b, []byte(call)), []byte(kind)), data), prev))
	return sum[:]
}

func field(b, v []byte) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
}

// Key seals rows. The zero value is no key: nothing is sealed with it.
type Key struct{ secret []byte }

// KeyBytes is how long a key is.
const KeyBytes = 32

// NewKey takes a secret of [KeyBytes]; with fewer it is no key.
func NewKey(secret []byte) Key {
	if len(secret) < KeyBytes {
		return Key{}
	}
	return Key{secret}
}

// None reports whether it is no key.
func (k Key) None() bool { return k.secret == nil }

// String returns what the key is known by, and nothing of it.
func (k Key) String() string {
	if k.None() {
		return "none"
	}
	return hex.EncodeToString(k.id())
}

// GoString is String: a key is never printed.
func (k Key) GoString() string { return k.String() }

func (k Key) id() []byte {
	sum := sha256.Sum256(append([]byte("hotcell audit key id"), k.secret...))
	return sum[:keyIDBytes]
}

// seal is the key's id and the HMAC of what it seals; nil without a key.
func (k Key) seal(what string, n int64, hash []byte) control.Sum {
	if k.None() {
		return nil
	}
	mac := hmac.New(sha256.New, k.secret)
	mac.Write(field(binary.BigEndian.AppendUint64(field(nil, []byte(what)), uint64(n)), hash))
	return mac.Sum(k.id())
}

// SealHead and SealStart seal the two marks of a chain: its last row, and the last one that was taken away.
func (k Key) SealHead(h control.AuditHead) control.Sum { return k.seal(headSeal, h.N, h.Hash) }

// SealStart is described with SealHead.
func (k Key) SealStart(h control.AuditHead) control.Sum { return k.seal(startSeal, h.N, h.Hash) }

// check says what is wrong with a seal, "" for nothing. Without a key nothing is.
func (k Key) check(seal control.Sum, what string, n int64, hash []byte) string {
	switch {
	case k.None():
		return ""
	case len(seal) == 0:
		return "it has no seal"
	case len(seal) == keyIDBytes+sha256.Size && string(seal[:keyIDBytes]) != string(k.id()):
		return "it was sealed with another key (" + hex.EncodeToString(seal[:keyIDBytes]) + ") than this one (" + k.String() + ")"
	case !hmac.Equal(seal, k.seal(what, n, hash)):
		return "its seal is not the key's: who wrote it had not the key"
	}
	return ""
}
