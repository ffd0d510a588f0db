package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
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

type api struct {
	control control.Limited
	auth    auth.Authenticator
	ready   func(context.Context) error
	log     *slog.Logger
}

// The bodies of answers.
type (
	statusBody struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitempty"`
	}
	listBody struct {
		Calls []control.Call `json:"calls"`
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

func (a *api) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, statusBody{Status: "ok"})
}

func (a *api) readiness(w http.ResponseWriter, r *http.Request) {
	if a.ready == nil {
		reply(w, http.StatusOK, statusBody{Status: "ready"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		body := statusBody{Status: "not ready"}
		if id, unknown := a.who(r); unknown == nil && id.May(auth.Admin) { // the reason may name things of this host
			body.Reason = firstLine(err.Error(), maxReason)
		}
		reply(w, http.StatusServiceUnavailable, body)
		return
	}
	reply(w, http.StatusOK, statusBody{Status: "ready"})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	limit, err := number(r, "limit", defaultList, maxList)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	calls, err := a.calls(r.Context()).List(r.Context(), limit)
	if err != nil {
		a.failed(w, r, err)
		return
	}
	if calls == nil {
		calls = []control.Call{}
	}
	reply(w, http.StatusOK, listBody{calls})
}

func (a *api) show(w http.ResponseWriter, r *http.Request) {
	id, ok := callID(w, r)
	if !ok {
		return
	}
	call, answer, err := a.calls(r.Context()).Show(r.Context(), id)
	if err != nil {
		a.failed(w, r, err)
		return
	}
	reply(w, http.StatusOK, showBody{call, answer})
}

func (a *api) events(w http.ResponseWriter, r *http.Request) {
	id, ok := callID(w, r)
	if !ok {
		return
	}
	from, err := number(r, "from", 0, maxFrom)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	events, err := a.calls(r.Context()).Events(r.Context(), id, from)
	if err != nil {
		a.failed(w, r, err)
		return
	}
	if events == nil {
		events = []a2e.Event{}
	}
	reply(w, http.StatusOK, eventsBody{events})
}

// cancel answers with the call as it stands after the request was noted: rarely ended yet.
func (a *api) cancel(w http.ResponseWriter, r *http.Request) {
	id, ok := callID(w, r)
	if !ok {
		return
	}
	calls := a.calls(r.Context())
	if err := calls.Cancel(r.Context(), id); err != nil {
		a.failed(w, r, err)
		return
	}
	call, _, err := calls.Show(r.Context(), id)
	if err != nil {
		a.failed(w, r, err)
		return
	}
	reply(w, http.StatusAccepted, callBody{call})
}

// failed answers with what an error means to a client. What is not classified goes to the log alone.
func (a *api) failed(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, control.ErrNotFound):
		fail(w, http.StatusNotFound, "not_found", control.ErrNotFound.Error())
	case errors.Is(err, control.ErrEnded):
		fail(w, http.StatusConflict, "ended", control.ErrEnded.Error())
	case errors.Is(err, control.ErrElsewhere):
		fail(w, http.StatusConflict, "elsewhere", control.ErrElsewhere.Error())
	case r.Context().Err() != nil: // the client has gone
		fail(w, http.StatusServiceUnavailable, "cancelled", "the request was cancelled")
	default:
		a.log.Error("request", "method", r.Method, "path", r.URL.Path, "err", err)
		fail(w, http.StatusInternalServerError, "internal", "internal error")
	}
}

// callID reads the id in the path, which a client chose if it is a request id.
func callID(w http.ResponseWriter, r *http.Request) (string, bool) {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return "", false
	}
	return id, true
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

// number reads a query parameter: decimal, from 0 to most.
func number(r *http.Request, name string, absent, most int) (int, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return absent, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 0 || n > most || len(q[name]) > 1 {
		return 0, fmt.Errorf("%s: expected one number from 0 to %d", name, most)
	}
	return n, nil
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
