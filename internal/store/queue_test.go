package store

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// An artifact that comes faster than it can be written is kept whole, however much else is said meanwhile; both have bounds.
func TestArtifactsAreKeptWhole(t *testing.T) {
	s := opened(t, Options{})
	accept(t, s, taken("01A", "r"))
	piece := json.RawMessage(`{"chunk":"` + string(bytes.Repeat([]byte("x"), 90<<10)) + `"}`)
	say := func(i int, artifact bool) *op {
		return &op{late: true, size: len(piece) + opOverhead, said: &words{call: "01A", first: i, last: i, artifact: artifact, data: piece}}
	}
	q := s.queue
	q.mu.Lock() // the writer gets nothing meanwhile
	for i := range 2 * mostWaiting / len(piece) {
		if o := say(1000+i, false); q.room(o) {
			q.late = append(q.late, o)
			q.count(o, +1)
		}
	}
	pieces := 20 << 20 / len(piece)
	for i := range pieces {
		o := say(i, true)
		if !q.room(o) {
			t.Fatalf("no room for piece %d", i)
		}
		q.late = append(q.late, o)
		q.count(o, +1)
	}
	if q.bytes-q.files > mostWaiting || q.files > mostFiles || q.room(&op{late: true, size: mostFiles, said: &words{artifact: true}}) {
		t.Errorf("%d bytes wait, %d of them files", q.bytes, q.files)
	}
	q.mu.Unlock()
	q.signal()
	testutil.Poll(t, time.Minute, func() bool { return q.waiting() == 0 })
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes != 0 || q.files != 0 {
		t.Errorf("%d bytes are left, %d of them files", q.bytes, q.files)
	}
}
