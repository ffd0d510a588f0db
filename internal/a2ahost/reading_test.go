package a2ahost

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Whatever is read, its place is given back.
func TestPlacesAreGivenBack(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, asks("events"))
		for range 2 * mostReads {
			if _, err := c.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.ListTasks(within(t), &a2a.ListTasksRequest{IncludeArtifacts: true}); err != nil {
				t.Fatal(err)
			}
		}
		testutil.Poll(t, time.Minute, func() bool {
			all, ok := r.h.places.Take("", mostReads)
			if ok {
				all()
			}
			return ok
		})
	})
}

// Who finds no place waits a while, and one principal leaves some to others.
func TestNoPlaceForALargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := usual()
		h, err := New(Options{Handler: f, Control: f, Skills: f})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ask := func(principal string) (*reading, error) {
			place := &reading{}
			ctx := context.WithValue(t.Context(), readingKey{}, place)
			if err := h.reads(ctx, a2e.Caller{Principal: principal}); err != nil {
				return place, err
			}
			return place, h.reads(ctx, a2e.Caller{Principal: principal}) // it has one by now
		}
		var last *reading
		for range mostReads / 2 {
			if last, err = ask("greedy"); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		var busy *fault
		if _, err := ask("greedy"); !errors.As(err, &busy) || busy.kind != errBusy || time.Since(began) != readWait {
			t.Errorf("one more: %v after %v", err, time.Since(began))
		}
		if _, err := ask("other"); err != nil {
			t.Errorf("another: %v", err)
		}
		time.AfterFunc(time.Second, last.end)
		if _, err := ask("greedy"); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}
