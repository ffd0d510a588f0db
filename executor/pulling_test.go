package executor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
)

// slowStore is a store whose pull tells how it goes, and takes ten seconds.
type slowStore struct {
	pulls *images.Pulls
	fail  error
}

func (s slowStore) Resolve(ctx context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	err := s.pulls.Do(ctx, ref, func(ctx context.Context, tell func(images.Progress)) error {
		for i := range int64(100) {
			tell(images.Progress{Ref: ref, Step: "downloading", Done: i * 1e5, Total: 1e7})
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		tell(images.Progress{Ref: ref, Step: "extracting", Done: 1e7, Total: 1e7})
		return s.fail
	})
	if err != nil {
		return images.Image{}, err
	}
	return store{}.Resolve(ctx, ref, images.PullNever)
}

// Who waits for a pull hears how it goes, now and then, before all that the cell says; also where it fails in the end.
func TestACallHearsOfItsPull(t *testing.T) {
	for name, fail := range map[string]error{"it succeeds": nil, "it fails": &images.UnavailableError{Ref: "img", Why: "cut", Retryable: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pulls := images.NewPulls(time.Minute)
				defer pulls.Close()
				b := setUp(t, well, func(c *Config) { c.Images = slowStore{pulls, fail} })
				answer, events := b.ask(t.Context(), req("free"))
				want := "ok"
				if fail != nil {
					want = "runtime_error/image_unavailable"
				}
				if got := verdict(answer); got != want {
					t.Fatalf("got %s: %v", got, answer.Error)
				}
				told := 0
				for i, ev := range events {
					if ev.Seq != i {
						t.Errorf("event %d has the number %d", i, ev.Seq)
					}
					if ev.Kind == a2e.KindStatus && ev.Data["kind"] == kindPull {
						told++
						if told != i+1 {
							t.Errorf("event %d comes after the cell's", i)
						}
					}
				}
				if told < 8 || told > 13 {
					t.Errorf("told %d times: %v", told, events)
				}
				last := fmt.Sprint(events[told-1].Data["message"])
				if !strings.Contains(last, "pulling image img: extracting, 10.0 of 10.0 MB") {
					t.Errorf("the last: %s", last)
				}
			})
		})
	}
}

// A call that is cancelled while it waits for a pull is cancelled; the pull goes on for the other one.
func TestACallLeavesItsPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pulls := images.NewPulls(time.Minute)
		defer pulls.Close()
		b := setUp(t, well, func(c *Config) { c.Images = slowStore{pulls, nil} })
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan string)
		go func() { answer, _ := b.ask(ctx, req("free")); first <- verdict(answer) }()
		time.Sleep(2 * time.Second)
		began := time.Now()
		second := make(chan string)
		go func() { answer, _ := b.ask(t.Context(), req("free")); second <- verdict(answer) }()
		time.Sleep(2 * time.Second)
		cancel()
		if got := <-first; got != "runtime_error/cancelled" {
			t.Errorf("the first: %s", got)
		}
		if got := <-second; got != "ok" || time.Since(began) > 9*time.Second {
			t.Errorf("the second: %s after %v", got, time.Since(began))
		}
	})
}
