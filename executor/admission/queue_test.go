package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrincipalsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Cells: 1, Memory: 100, Waiting: 100})
		first, err := q.Acquire(t.Context(), "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for _, name := range []string{"a1", "a2", "a3", "b1", "c1", "b2"} {
			wg.Go(func() {
				ticket, err := q.Acquire(t.Context(), name[:1], 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				ticket.Release()
			})
			synctest.Wait() // they queue in this order
		}
		first.Release()
		wg.Wait()
		if got, want := strings.Join(order, " "), "a1 b1 c1 a2 b2 a3"; got != want {
			t.Errorf("order = %s, want %s", got, want)
		}
	})
}

func TestRefusals(t *testing.T) {
	q := New(Options{Cells: 1, Memory: 100, Waiting: 0})
	var large *TooLargeError
	if _, err := q.Acquire(t.Context(), "", 101); !errors.As(err, &large) || large.Budget != 100 {
		t.Errorf("too large: %v", err)
	}
	ticket, err := q.Acquire(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Acquire(t.Context(), "", 1); !errors.Is(err, ErrFull) {
		t.Errorf("full: %v", err)
	}
	ticket.Release()
	ticket.Release()
	if cells, memory := q.Held(); cells != 0 || memory != 0 {
		t.Errorf("after two releases %d cells and %d bytes are held, want none", cells, memory)
	}
}

// Who does not wait gets a share that is free, and passes nobody who waits.
func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Cells: 2, Memory: 100, Waiting: 10})
		if q.Try(101) != nil {
			t.Error("more than there is was handed out")
		}
		first, second := q.Try(60), q.Try(40)
		if first == nil || second == nil || q.Try(0) != nil {
			t.Fatal("two cells and all memory were not handed out")
		}
		second.Release()
		var wg sync.WaitGroup
		wg.Go(func() {
			ticket, err := q.Acquire(t.Context(), "a", 80)
			if err != nil {
				t.Error(err)
				return
			}
			ticket.Release()
		})
		synctest.Wait()
		if q.Try(10) != nil {
			t.Error("one who waits was passed")
		}
		first.Release()
		wg.Wait()
		if cells, memory := q.Held(); cells != 0 || memory != 0 {
			t.Errorf("%d cells and %d bytes are held", cells, memory)
		}
	})
}

func TestALargeRequestIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Cells: 10, Memory: 100, Waiting: 10})
		held, _ := q.Acquire(t.Context(), "a", 60)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []int64
		for _, m := range []int64{80, 10} {
			wg.Go(func() {
				ticket, err := q.Acquire(t.Context(), fmt.Sprint(m), m)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, m)
				mu.Unlock()
				ticket.Release()
			})
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Errorf("%v were admitted before the one that was first", order)
		}
		held.Release()
		wg.Wait()
	})
}

func TestWaitersEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		depth := 0
		q := New(Options{Cells: 1, Memory: 100, Waiting: 10, Depth: func(n int) { depth = n }})
		held, _ := q.Acquire(t.Context(), "", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Acquire(ctx, "", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
		if depth != 0 {
			t.Errorf("%d still wait", depth)
		}
		held.Release()
	})
}

// Whatever happens in whatever order, the queue never hands out more than it has, and it ends empty.
func TestNeverMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opts := Options{
			Cells:   rapid.IntRange(1, 4).Draw(rt, "cells"),
			Memory:  rapid.Int64Range(10, 50).Draw(rt, "memory"),
			Waiting: rapid.IntRange(0, 8).Draw(rt, "waiting"),
		}
		q := New(opts)
		n := rapid.IntRange(1, 30).Draw(rt, "calls")
		var wg sync.WaitGroup
		for i := range n {
			memory := rapid.Int64Range(1, 60).Draw(rt, "m")
			impatient := rapid.Bool().Draw(rt, "impatient")
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if impatient {
					cancel()
				}
				ticket, err := q.Acquire(ctx, fmt.Sprint(i%3), memory)
				if err != nil {
					return
				}
				if cells, held := q.Held(); cells > opts.Cells || held > opts.Memory {
					t.Errorf("%d cells and %d bytes are out of %+v", cells, held, opts)
				}
				ticket.Release()
			})
		}
		wg.Wait()
		if cells, memory := q.Held(); cells != 0 || memory != 0 {
			t.Errorf("%d cells and %d bytes are left", cells, memory)
		}
	})
}

// Shares beside the cells are had at once or not at all, count the memory, and leave the cells and their queue alone.
func TestBeside(t *testing.T) {
	q := New(Options{Cells: 2, Memory: 100, Waiting: 1})
	var held []*Ticket
	for range 2 {
		ticket, err := q.Acquire(t.Context(), "a", 10)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ticket)
	}
	for range 2 {
		ticket, err := q.Beside(10)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ticket)
	}
	if _, err := q.Beside(10); !errors.Is(err, ErrBusy) {
		t.Errorf("a third one: %v", err)
	}
	var large *TooLargeError
	if _, err := q.Beside(101); !errors.As(err, &large) {
		t.Errorf("more than there is: %v", err)
	}
	if cells, memory := q.Held(); cells != 4 || memory != 40 {
		t.Errorf("%d cells, %d bytes", cells, memory)
	}
	held[3].Release()
	held[3].Release()
	if _, err := q.Beside(71); !errors.Is(err, ErrBusy) {
		t.Errorf("more than is left: %v", err)
	}
	held[0].Release() // a cell's share is no share beside
	if ticket, err := q.Acquire(t.Context(), "a", 10); err != nil {
		t.Error(err)
	} else {
		ticket.Release()
	}
	held[1].Release()
	held[2].Release()
	if cells, memory := q.Held(); cells != 0 || memory != 0 {
		t.Errorf("%d cells, %d bytes are still held", cells, memory)
	}
}

// What waits ahead of calls has to leave room for the next one that queues, if memory is all that keeps it back.
func TestRoomBesideTheQueue(t *testing.T) {
	q := New(Options{Cells: 2, Memory: 100, Waiting: 10})
	one, err := q.Acquire(t.Context(), "a", 60)
	if err != nil {
		t.Fatal(err)
	}
	if !q.Room(40) || q.Room(41) || q.Busy() {
		t.Error("beside 60 of 100 there is room for 40, and nobody waits")
	}
	got := make(chan *Ticket)
	go func() {
		two, err := q.Acquire(t.Context(), "b", 50)
		if err != nil {
			t.Error(err)
		}
		got <- two
	}()
	testutil.Poll(t, time.Second, q.Busy)
	if q.Room(0) {
		t.Error("the next one needs what is left and more")
	}
	one.Release()
	two := <-got
	if !q.Room(50) || q.Busy() {
		t.Error("it has what it needs")
	}
	three, err := q.Acquire(t.Context(), "c", 10)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		four, err := q.Acquire(t.Context(), "d", 40)
		if err != nil {
			t.Error(err)
		}
		got <- four
	}()
	testutil.Poll(t, time.Second, q.Busy)
	if !q.Room(40) {
		t.Error("the next one waits for a cell, and there is memory")
	}
	two.Release()
	(<-got).Release()
	three.Release()
}

// One principal that fills the queue keeps nobody else out, and gets as much of it as there is no one else for.
func TestNobodyIsKeptOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Cells: 1, Memory: 100, Waiting: 4})
		held, err := q.Acquire(t.Context(), "x", 1)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order, refused []string
		var wg sync.WaitGroup
		ask := func(name string) {
			wg.Go(func() {
				ticket, err := q.Acquire(t.Context(), name[:1], 1)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, ErrFull):
					refused = append(refused, name)
				case err != nil:
					t.Error(err)
				default:
					order = append(order, name)
					ticket.Release()
				}
			})
			synctest.Wait()
		}
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "c1", "b2", "c2", "a6"} {
			ask(name)
		}
		held.Release()
		wg.Wait()
		if got, want := fmt.Sprint(order, refused), "[a1 b1 c1 a2] [a5 a4 a3 b2 c2 a6]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if cells, memory := q.Held(); cells != 0 || memory != 0 || q.Busy() {
			t.Errorf("%d cells and %d bytes are held in the end", cells, memory)
		}
	})
}

// Whoever gives up in the moment in which it is put out of the queue leaves nothing behind.
func TestGivingUpWhileOusted(t *testing.T) {
	for range 200 {
		q := New(Options{Cells: 1, Memory: 100, Waiting: 2})
		held, err := q.Acquire(t.Context(), "x", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if ticket, err := q.Acquire(ctx, "a", 1); err == nil {
					ticket.Release()
				}
			})
		}
		testutil.Poll(t, time.Minute, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.waiting == 2 })
		wg.Go(cancel)
		wg.Go(func() {
			if ticket, err := q.Acquire(t.Context(), "b", 1); err == nil {
				ticket.Release()
			}
		})
		held.Release()
		wg.Wait()
		if cells, memory := q.Held(); cells != 0 || memory != 0 || q.Busy() {
			t.Fatalf("%d cells and %d bytes are held in the end", cells, memory)
		}
	}
}
