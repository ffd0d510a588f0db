package a2ahost

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// call is one request of HTTP+JSON.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	who  a2e.Caller
	body []byte
}

// action is what a path and a method stand for. Without run it streams.
type action struct {
	method string
	run    func(h *Host, c *call) (any, error)
	stream func(h *Host, c *call, e *events) (func(ctx context.Context) error, error)
}

// serveREST answers one request of HTTP+JSON.
func (h *Host) serveREST(w http.ResponseWriter, r *http.Request, path string) {
	c := &call{w: w, r: r, who: auth.FromContext(r.Context()).Caller(door)}
	a, err := h.prepare(c, path)
	switch {
	case err != nil:
		h.failREST(c, err)
	case a.run != nil:
		result, err := a.run(h, c)
		if err != nil {
			h.failREST(c, err)
			return
		}
		writeJSON(w, http.StatusOK, c.media(), result)
	default:
		h.streamREST(c, a)
	}
}

// prepare finds the action and reads the body.
func (h *Host) prepare(c *call, path string) (*action, error) {
	known := actions(path)
	if known == nil {
		return nil, faultf(a2a.ErrMethodNotFound, "no such path")
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	at := slices.IndexFunc(known, func(a action) bool { return a.method == method })
	if at < 0 {
		var allow []string
		for _, a := range known {
			allow = append(allow, a.method)
		}
		c.w.Header().Set("Allow", strings.Join(allow, ", "))
		return nil, &fault{kind: errMethod, message: "expected " + strings.Join(allow, " or ")}
	}
	if err := h.speaks(c.r); err != nil {
		return nil, err
	}
	if method == http.MethodPost && c.r.ContentLength != 0 {
		if err := carriesJSON(c.r); err != nil {
			return nil, err
		}
		var err error
		if c.body, err = readBody(c.r.Body); err == nil && len(c.body) > 0 {
			err = wellFormed(c.body)
		}
		if err != nil {
			return nil, err
		}
	}
	return &known[at], nil
}

// actions returns what can be done at a path below the interface's URL, with a tenant before it or not: there is one agent
// here whatever the tenant. Nil where there is nothing.
func actions(path string) []action {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if found := actionsAt(segments); found != nil || len(segments) < 2 {
		return found
	}
	return actionsAt(segments[1:])
}

func actionsAt(segments []string) []action {
	switch head := segments[0]; {
	case len(segments) == 1 && head == "message:send":
		return []action{{method: http.MethodPost, run: restSend}}
	case len(segments) == 1 && head == "message:stream":
		return []action{{method: http.MethodPost, stream: restStream}}
	case len(segments) == 1 && head == "extendedAgentCard":
		return []action{{method: http.MethodGet, run: func(h *Host, c *call) (any, error) { return h.extended(c.r, c.who) }}}
	case head == "tasks":
		return taskActions(segments[1:])
	}
	return nil
}

func taskActions(segments []string) []action {
	switch len(segments) {
	case 0:
		return []action{{method: http.MethodGet, run: restList}}
	case 1:
		if id, ok := strings.CutSuffix(segments[0], ":cancel"); ok {
			return []action{{method: http.MethodPost, run: func(h *Host, c *call) (any, error) {
				return h.cancelTask(c.r.Context(), c.who, &taskParams{ID: id})
			}}}
		}
		if id, ok := strings.CutSuffix(segments[0], ":subscribe"); ok {
			subscribe := func(h *Host, c *call, e *events) (func(context.Context) error, error) {
				return func(ctx context.Context) error { return h.subscribe(ctx, c.who, &taskParams{ID: id}, e.emit) }, nil
			}
			return []action{{method: http.MethodPost, stream: subscribe}, {method: http.MethodGet, stream: subscribe}}
		}
		return []action{{method: http.MethodGet, run: func(h *Host, c *call) (any, error) { return restGet(h, c, segments[0]) }}}
	}
	if segments[1] != "pushNotificationConfigs" || len(segments) > 3 {
		return nil
	}
	none := func(*Host, *call) (any, error) { return nil, noPush() }
	if len(segments) == 2 {
		return []action{{method: http.MethodPost, run: none}, {method: http.MethodGet, run: none}}
	}
	return []action{{method: http.MethodGet, run: none}, {method: http.MethodDelete, run: none}}
}

func restSend(h *Host, c *call) (any, error) {
	var p sendParams
	if err := decode(c.body, &p); err != nil {
		return nil, err
	}
	t, err := h.sendMessage(c.r.Context(), c.who, &p, len(c.body))
	return a2a.StreamResponse{Event: t}, err
}

func restStream(h *Host, c *call, e *events) (func(context.Context) error, error) {
	var p sendParams
	if err := decode(c.body, &p); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return h.sendStreaming(ctx, c.who, &p, len(c.body), e.emit) }, nil
}

func restGet(h *Host, c *call, id string) (any, error) {
	q := query{c.r.URL.Query(), nil}
	p := &taskParams{ID: id, HistoryLength: q.number("historyLength")}
	if q.err != nil {
		return nil, q.err
	}
	return h.getTask(c.r.Context(), c.who, p)
}

func restList(h *Host, c *call) (any, error) {
	q := query{c.r.URL.Query(), nil}
	p := &listParams{
		ContextID: q.text("contextId"), Status: q.text("status"), PageSize: q.number("pageSize"), PageToken: q.text("pageToken"),
		HistoryLength: q.number("historyLength"), IncludeArtifacts: q.flag("includeArtifacts"),
	}
	for _, name := range []string{"statusTimestampAfter", "lastUpdatedAfter"} { // the second is what the Go client writes
		if after := q.text(name); after != "" {
			p.After = &after
		}
	}
	if q.err != nil {
		return nil, q.err
	}
	return h.listTasks(c.r.Context(), c.who, p)
}

// query reads query parameters, and keeps the first error.
type query struct {
	url.Values
	err error
}

func (q *query) text(name string) string {
	if len(q.Values[name]) > 1 && q.err == nil {
		q.err = invalid(name, "expected one value")
	}
	return q.Get(name)
}

func (q *query) number(name string) *int {
	text := q.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil && q.err == nil {
		q.err = invalid(name, "expected a whole number")
	}
	return &n
}

func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "true":
		return true
	case "", "false":
	default:
		if q.err == nil {
			q.err = invalid(name, "expected true or false")
		}
	}
	return false
}

// media is the content type that a client reads. application/a2a+json is the specification's; there are clients that ask
// for application/json and know nothing else.
func (c *call) media() string {
	accepts := strings.ToLower(strings.Join(c.r.Header.Values("Accept"), ","))
	if accepts == "" || strings.Contains(accepts, mediaA2A) || strings.Contains(accepts, "*/*") {
		return mediaA2A
	}
	return mediaJSON
}

func (h *Host) failREST(c *call, err error) {
	if left(c.r, err) {
		return
	}
	status, body := h.fault(err, c.r.Method+" "+c.r.URL.Path).body()
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", retryAfter)
	}
	writeJSON(c.w, status, c.media(), body)
}

// streamREST runs an action that answers with a stream. What goes wrong before its first event has a status of its own.
func (h *Host) streamREST(c *call, a *action) {
	e := newEvents(c.w, func(result any) any { return result })
	run, err := a.stream(h, c, e)
	if err == nil {
		err = h.stream(c.r.Context(), e, run)
	}
	switch {
	case err == nil || left(c.r, err):
	case !e.open():
		h.failREST(c, err)
	default:
		_, body := h.fault(err, c.r.URL.Path).body()
		_ = e.send(body) // the client may have gone
	}
}
