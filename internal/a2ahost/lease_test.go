package a2ahost

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/a2e"
)

// What many requests read of large tasks at once is bounded, and no principal takes all of it. A task that ends meanwhile
// names what can be read later.
func TestRoomForContents(t *testing.T) {
	r := open(t, usual())
	ann, bob := r.client(a2a.TransportProtocolHTTPJSON, "ann"), r.client(a2a.TransportProtocolHTTPJSON, "bob")
	early := sent(t, ann, asks("big"))
	give, ok := r.h.contents.Take("ann", allContents/2)
	for ctx := within(t); !ok; give, ok = r.h.contents.Take("ann", allContents/2) { // the client has its answer a moment before
		if pause(ctx, lag) != nil {
			t.Fatal("what was answered is still held")
		}
	}
	late := sent(t, ann, asks("big"))
	if len(late.Artifacts) == 0 || late.Artifacts[0].Metadata["complete"] != false || late.Status.State != a2a.TaskStateCompleted {
		t.Errorf("got %+v", late)
	}
	if _, err := bob.GetTask(within(t), &a2a.GetTaskRequest{ID: sent(t, bob, asks("big")).ID}); err != nil {
		t.Errorf("another principal: %v", err)
	}
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, r.url+BasePath+"/tasks/"+string(early.ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Test-Principal", "ann")
	resp, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "try again later") {
		t.Errorf("%v %s %s", err, resp.Status, body)
	}
	give()
	for _, task := range []*a2a.Task{early, late} {
		got, err := ann.GetTask(within(t), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || got.Artifacts[0].Metadata["complete"] == false {
			t.Errorf("afterwards: %+v, %v", got, err)
		}
	}
}

// What finds no more room in a task is named all the same, and said to be incomplete.
func TestWhatATaskHasNoRoomFor(t *testing.T) {
	p, tell := &pieces{full: true}, newTeller(newIdentity("", false))
	p.take(tell.tell(&a2e.Event{Kind: a2e.KindArtifact, Data: artifact("f", "hello", true)}))
	all := p.artifacts(true)
	if len(all) != 1 || all[0].Name != "f" || len(all[0].Parts[0].Raw()) != 0 || all[0].Metadata["complete"] != false {
		t.Errorf("got %+v", all)
	}
}

// A principal has a bounded number of subscriptions, which leaves some for the others.
func TestSubscriptionsAreBounded(t *testing.T) {
	r := open(t, usual())
	give, ok := r.h.subscribers.Take("ann", mostSubscribers/2)
	if !ok {
		t.Fatal("no room")
	}
	defer give()
	ann, bob := r.client(a2a.TransportProtocolHTTPJSON, "ann"), r.client(a2a.TransportProtocolHTTPJSON, "bob")
	fault := func(c *a2aclient.Client, task a2a.TaskID) error {
		for _, err := range c.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: task}) {
			return err
		}
		return nil
	}
	if err := fault(ann, sent(t, ann, asks("echo")).ID); err == nil || !strings.Contains(err.Error(), "too many subscriptions") {
		t.Errorf("got %v", err)
	}
	if err := fault(bob, sent(t, bob, asks("echo")).ID); !errors.Is(err, a2a.ErrUnsupportedOperation) { // it has ended
		t.Errorf("another principal: %v", err)
	}
}
