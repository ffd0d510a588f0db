package a2ahost

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// history puts n ended calls into a fake, some at the same moment.
func (f *fake) history(principal string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		id := newIdentity([]string{"red", "blue"}[i%2], false)
		k := &kept{view: control.Call{
			ID: fmt.Sprintf("OLD%06d", i), ReqID: id.task, Skill: "echo", Principal: principal, Door: door, Accepted: start.Add(time.Duration(i/3) * time.Minute),
		}}
		answer := &a2e.CallResponse{Data: &a2e.Result{Success: true, Data: map[string]any{"i": i}, Summary: "fine"}}
		if i%5 == 0 {
			answer = a2e.Failure("", "", a2e.Errorf(a2e.Timeout, "too slow"), 0)
		}
		k.end(answer)
		k.view.Ended = k.view.Accepted.Add(time.Second)
		f.calls = append(f.calls, k)
	}
}

func TestListPages(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		const n = 120
		r.f.history("", n)
		r.f.history("somebody", 7)
		for _, size := range []int{0, 1, 7, 100} {
			var all []*a2a.Task
			token := ""
			for page := 0; ; page++ {
				got, err := c.ListTasks(within(t), &a2a.ListTasksRequest{PageSize: size, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				want := size
				if size == 0 {
					want = 50
				}
				if got.TotalSize != n || got.PageSize != want || len(got.Tasks) > want {
					t.Fatalf("got %d of %d in pages of %d", len(got.Tasks), got.TotalSize, got.PageSize)
				}
				all = append(all, got.Tasks...)
				if token = got.NextPageToken; token == "" {
					break
				}
			}
			ids := map[a2a.TaskID]bool{}
			for _, task := range all {
				ids[task.ID] = true
				if task.Artifacts != nil || task.History != nil {
					t.Errorf("got %+v", task)
				}
			}
			if len(all) != n || len(ids) != n {
				t.Errorf("pages of %d: got %d tasks, %d different ones", size, len(all), len(ids))
			}
			if !slices.IsSortedFunc(all, func(a, b *a2a.Task) int { return b.Status.Timestamp.Compare(*a.Status.Timestamp) }) {
				t.Errorf("pages of %d are not in order", size)
			}
		}
	})
}

// Tasks that come while a client turns pages shift none of the older ones.
func TestListPagesStay(t *testing.T) {
	r := open(t, usual())
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	r.f.history("", 10)
	first, err := c.ListTasks(within(t), &a2a.ListTasksRequest{PageSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	sent(t, c, asks("echo"))
	second, err := c.ListTasks(within(t), &a2a.ListTasksRequest{PageSize: 100, PageToken: first.NextPageToken})
	if err != nil || len(second.Tasks) != 6 || second.TotalSize != 11 {
		t.Fatalf("got %+v, %v", second, err)
	}
	for _, task := range second.Tasks {
		if slices.ContainsFunc(first.Tasks, func(t *a2a.Task) bool { return t.ID == task.ID }) {
			t.Errorf("%s is on both pages", task.ID)
		}
	}
}

func TestListFilters(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		r.f.history("", 30)
		running := sent(t, c, atOnce(asks("wait")))
		since := r.state(c, running.ID, a2a.TaskStateWorking).Status.Timestamp
		testutil.Poll(t, patience, func() bool { return time.Now().Truncate(time.Millisecond).After(*since) }) // the clock of lists has milliseconds
		asked := sent(t, c, asks(""))
		at := time.Date(2026, 1, 2, 3, 10, 6, 0, time.UTC)
		for name, test := range map[string]struct {
			q    a2a.ListTasksRequest
			want int
		}{
			"context":       {a2a.ListTasksRequest{ContextID: "red"}, 15},
			"no context":    {a2a.ListTasksRequest{ContextID: "green"}, 0},
			"failed":        {a2a.ListTasksRequest{Status: a2a.TaskStateFailed}, 6},
			"completed":     {a2a.ListTasksRequest{Status: a2a.TaskStateCompleted}, 24},
			"working":       {a2a.ListTasksRequest{Status: a2a.TaskStateWorking}, 1},
			"asking":        {a2a.ListTasksRequest{Status: a2a.TaskStateInputRequired}, 1},
			"rejected":      {a2a.ListTasksRequest{Status: a2a.TaskStateRejected}, 0},
			"since":         {a2a.ListTasksRequest{StatusTimestampAfter: &at, Status: a2a.TaskStateCompleted}, 10},
			"both":          {a2a.ListTasksRequest{ContextID: "blue", Status: a2a.TaskStateFailed}, 3},
			"of everything": {a2a.ListTasksRequest{}, 32},
		} {
			got, err := c.ListTasks(within(t), &test.q)
			if err != nil || got.TotalSize != test.want {
				t.Errorf("%s: got %d, want %d, %v", name, got.TotalSize, test.want, err)
			}
		}
		got, err := c.ListTasks(within(t), &a2a.ListTasksRequest{PageSize: 2})
		if err != nil || got.Tasks[0].ID != asked.ID || got.Tasks[1].ID != running.ID || got.Tasks[0].Status.Message == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		close(r.f.release)
	})
}

func TestListWithArtifactsAndHistory(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		task := sent(t, c, asks("events"))
		two := 2
		got, err := c.ListTasks(within(t), &a2a.ListTasksRequest{IncludeArtifacts: true, HistoryLength: &two})
		if err != nil || len(got.Tasks) != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		want := *task
		want.History = task.History[2:]
		if diff := cmp.Diff(&want, got.Tasks[0]); diff != "" {
			t.Error(diff)
		}
	})
}

// A page with artifacts ends early rather than become too large.
func TestListPagesAreBounded(t *testing.T) {
	r := open(t, usual())
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	r.h.page = 50
	for range 12 {
		sent(t, c, asks("events"))
	}
	seen, token := 0, ""
	for pages := 0; ; pages++ {
		got, err := c.ListTasks(within(t), &a2a.ListTasksRequest{IncludeArtifacts: true, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		seen += len(got.Tasks)
		if token = got.NextPageToken; token == "" {
			if seen != 12 || pages == 0 {
				t.Errorf("got %d tasks in %d pages", seen, pages+1)
			}
			return
		}
	}
}
