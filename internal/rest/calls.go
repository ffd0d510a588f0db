package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	defaultList = 100
	maxList     = 10_000
	maxFrom     = 1<<31 - 1
	maxID       = 256 // bytes
	maxReason   = 300 // bytes of a readiness failure that are shown
)

// The bodies of answers.
type (
	statusBody struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitempty"`
	}
	listBody struct {
		Calls []control.Call `json:"calls"`
		Next  string         `json:"next,omitempty"` // before of the next request; absent: there is no more
	}
	callBody struct {
		Call control.Call `json:"call"`
	}
	showBody struct {
		Call   control.Call      `json:"call"`
		Answer *a2e.CallResponse `json:"answer"` // null until the call has ended
	}
	eventsBody struct {
		Events []a2e.Event `json:"events"`
	}
)

// controlRoutes are the calls that there are.
func (a *api) controlRoutes() []route {
	bad, none := http.StatusBadRequest, http.StatusNotFound
	return append(a.bookRoutes(), []route{
		{
			method: http.MethodGet, path: "/v1/calls", id: "list-calls", tag: tagCalls, scope: auth.Calls, large: true,
			summary: "List calls, the newest first", about: "One's own; an admin's list has everybody's.",
			params: a.listParams(), outs: []out{good(listBody{})}, fails: []int{bad}, serve: a.list,
		},
		{
			method: http.MethodGet, path: "/v1/calls/{id}", id: "show-call", tag: tagCalls, scope: auth.Calls, large: true,
			summary: "Show a call and, when it has ended, its answer", about: "The id is the call's or the request's, here and below; a request id that several calls had names the newest.",
			outs: []out{good(showBody{})}, fails: []int{bad, none}, serve: a.show,
		},
		{
			method: http.MethodGet, path: "/v1/calls/{id}/events", id: "list-call-events", tag: tagCalls, scope: auth.Calls,
			summary: "Read or follow what a skill says",
			about: "JSON: the events that are kept, some of them where they are many: ask again with after, there is no more once an answer is empty. With " +
				"Accept: text/event-stream or application/x-ndjson they come as they are said, and the answer, if there is one, ends the stream.",
			params: []param{
				{"after", "query", "integer", "Only events with a larger seq."},
				{"from", "query", "integer", "Only events with this seq or a larger one."},
				{"wait", "query", "integer", "Seconds that a JSON answer may wait for an event or for the end of the call, 60 at most."},
				{"Last-Event-ID", "header", "string", "The same as after, of a text/event-stream that is taken up again."},
			},
			outs: []out{
				good(eventsBody{}), {http.StatusOK, "events skill/event, then skill/call/resp", kindSSE, nil},
				{http.StatusOK, "a line for each event, then one for the answer", kindNDJSON, nil},
			},
			fails: []int{bad, none, http.StatusServiceUnavailable}, serve: a.events,
		},
		{
			method: http.MethodDelete, path: "/v1/calls/{id}", id: "cancel-call", tag: tagCalls, scope: auth.Calls,
			summary: "Cancel a call", about: "The answer comes once the request is noted: the call has rarely ended yet.",
			outs: []out{{http.StatusAccepted, "the call as it stands", "", callBody{}}}, fails: []int{bad, none, http.StatusConflict}, serve: a.cancel,
		},
	}...)
}

func (a *api) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, statusBody{Status: "ok"})
}

func (a *api) readiness(w http.ResponseWriter, r *http.Request) {
	if a.ready == nil {
		reply(w, http.StatusOK, statusBody{Status: "ready"})
		return
	}
	_, err, _ := a.readying.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readyTimeout)
		defer cancel()
		return nil, a.ready(ctx)
	}) // anybody may ask, and the engine is asked for all of them at once
	if err != nil {
		body := statusBody{Status: "not ready"}
		if id, unknown := a.who(r); unknown == nil && id.May(auth.Admin) { // the reason may name things of this host
			body.Reason = firstLine(err.Error(), maxReason)
		}
		reply(w, http.StatusServiceUnavailable, body)
		return
	}
	reply(w, http.StatusOK, statusBody{Status: "ready"})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", defaultList, maxList)
	if err != nil {
		return err
	}
	if a.book != nil {
		return a.search(w, r, limit)
	}
	calls, err := a.calls(r.Context()).List(r.Context(), limit)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, listBody{Calls: listed(calls)})
	return nil
}

func (a *api) show(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	call, answer, err := a.calls(r.Context()).Show(r.Context(), id)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, showBody{call, answer})
	return nil
}

// cancel answers with the call as it stands after the request was noted: rarely ended yet.
func (a *api) cancel(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	calls := a.calls(r.Context())
	if err := calls.Cancel(r.Context(), id); err != nil {
		return err
	}
	call, _, err := calls.Show(r.Context(), id)
	if err != nil {
		return err
	}
	reply(w, http.StatusAccepted, callBody{call})
	return nil
}

// callID reads the id in the path, which a client chose if it is a request id.
func callID(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return "", badArgument(err)
	}
	return id, nil
}

func checkID(id string) error {
	switch {
	case id == "" || len(id) > maxID:
		return fmt.Errorf("id: expected 1 to %d bytes, got %d", maxID, len(id))
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return errors.New("id: expected text without control characters")
	}
	return nil
}

// firstLine makes a text fit to be shown: one bounded line of valid UTF-8 that no terminal takes for a command.
func firstLine(s string, most int) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
