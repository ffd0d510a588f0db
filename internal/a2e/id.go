package a2e

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// NewID returns a random UUID (version 4) in A2E's form: 32 lower-case hex digits without dashes. It is unique, and no secret.
func NewID() string {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(b[8:], rand.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b[:])
}

// Now returns the time in seconds since the Unix epoch, as messages carry it.
func Now() float64 { return Timestamp(time.Now()) }

// Timestamp returns t in seconds since the Unix epoch, to the microsecond.
func Timestamp(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
