package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// bulky is a request whose decoded form holds more than so many bytes.
func bulky(id string, bytes int) *a2e.CallRequest {
	r := sent("free", id)
	r.Arguments = map[string]any{"x": strings.Repeat("x", bytes)}
	return r
}

// What waits may take a bounded amount of memory, and one principal's requests leave room for others'. What is refused may
// come again, and what has ended is given back.
func TestRequestsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, hang, func(c *Config) { c.MaxCells = 1 })
		const all, each = 2 << 20, 100 << 10
		b.load = auth.NewShares(all, all/2)
		ctx, stop := context.WithCancel(t.Context())
		ask := func(principal string, r *a2e.CallRequest) *a2e.CallResponse {
			return b.Call(ctx, a2e.Caller{Principal: principal, Door: "test"}, r, nil)
		}
		answers := make(chan string, 100)
		n := all / 2 / (each + 1024)
		for i := range n {
			go func() { answers <- verdict(ask("greedy", bulky(fmt.Sprint(i), each))) }()
		}
		synctest.Wait()
		one := ask("greedy", bulky("more", each))
		if verdict(one) != "runtime_error/queue_full" || !one.Error.Retryable || one.ReqID != "more" {
			t.Errorf("one more: %s", verdict(one))
		}
		go func() { answers <- verdict(ask("greedy", sent("free", "small"))) }()
		go func() { answers <- verdict(ask("other", bulky("1", each))) }()
		synctest.Wait()
		if len(answers) > 0 {
			t.Errorf("refused: %s", <-answers)
		}
		stop()
		for range n + 2 {
			if got := <-answers; got != "runtime_error/cancelled" {
				t.Errorf("got %s", got)
			}
		}
		synctest.Wait()
		if _, ok := b.load.Take("", all); !ok {
			t.Error("not all room was given back")
		}
	})
}

// A request is not much larger than it is said to be.
func TestWeigh(t *testing.T) {
	for _, text := range []string{
		`[` + strings.Repeat(`[],`, 1e5) + `[]]`,
		`[` + strings.Repeat(`{},`, 1e5) + `{}]`,
		`[` + strings.Repeat(`1,`, 1e5) + `1]`,
		`[` + strings.Repeat(`{"a":1},`, 1e5) + `{}]`,
		`"` + strings.Repeat(`x`, 1e6) + `"`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		said, with := weigh(v), settledHeap()
		runtime.KeepAlive(v)
		v = nil
		real := with - settledHeap()
		if real > 12*said || said > 4*real {
			t.Errorf("%.20s: %d bytes, said to be %d", text, real, said)
		}
	}
}

// settledHeap is how many bytes are in use, once what other tests left is gone: what pools hold takes two collections, and what
// has a finalizer one more.
func settledHeap() int64 {
	for range 4 {
		runtime.GC()
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// What a call was asked with goes with its end, though the call is remembered.
func TestAnEndedCallIsSmall(t *testing.T) {
	b := setUp(t, well, nil)
	r := bulky("r1", 4<<20)
	r.Arguments["text"], r.Metadata = "x", map[string]any{"m": strings.Repeat("m", 1<<20)}
	var gone atomic.Int32
	for _, m := range []map[string]any{r.Arguments, r.Metadata} {
		mark := new([64]byte)
		m["mark"] = mark
		runtime.AddCleanup(mark, func(int) { gone.Add(1) }, 0)
	}
	answer, _ := b.ask(t.Context(), r)
	r = nil
	testutil.Poll(t, time.Minute, func() bool { runtime.GC(); return gone.Load() == 2 })
	if again, _, err := b.Show(t.Context(), answer.ID); err != nil || again.ReqID != "r1" {
		t.Errorf("%+v, %v", again, err)
	}
}

// What a request is said to be at most, it is at most, as JSON of either form.
func TestAtMostIsEnough(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("<>&\u2028\u2029\"\\\x00\x1f\x7f\ufffd😀a"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	number := rapid.OneOf(
		rapid.Map(rapid.Float64(), func(f float64) any { return f }), rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.StringMatching(`-?[1-9][0-9]{0,400}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,6})?`), func(s string) any { return json.Number(s) }))
	leaf := rapid.OneOf(number, rapid.Map(text, func(s string) any { return s }), rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](false))
	value := leaf
	for range 4 {
		inner := value
		value = rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(text, inner, 0, 4), func(m map[string]any) any { return m }))
	}
	object := rapid.MapOfN(text, value, 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		seconds, yes := rapid.Int().Draw(t, "timeout"), rapid.Bool().Draw(t, "streaming")
		r := &a2e.CallRequest{
			Header: a2e.Header{Type: a2e.TypeCallRequest, ID: text.Draw(t, "id"), Version: text.Draw(t, "version")}, Name: text.Draw(t, "name"),
			CorrelationID: text.Draw(t, "correlation"), Timeout: &seconds, Streaming: &yes,
			Arguments: object.Draw(t, "arguments"), Metadata: object.Draw(t, "metadata"),
		}
		most, known := atMost(r)
		if !known {
			t.Fatal("not known")
		}
		plain, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		escaped, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(max(len(plain), len(escaped))); n > most {
			t.Fatalf("%d bytes, said to be at most %d", n, most)
		}
	})
	for _, odd := range []any{math.NaN(), math.Inf(-1), make(chan int), []any{func() {}}, map[string]any{"x": struct{}{}}} {
		if _, known := atMost(&a2e.CallRequest{Arguments: map[string]any{"x": odd}}); known {
			t.Errorf("%T is known", odd)
		}
	}
	if _, known := atMost(&a2e.CallRequest{LLMOverride: &a2e.LLMConfig{}}); known {
		t.Error("a model's configuration is known")
	}
}
