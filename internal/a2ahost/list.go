package a2ahost

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// Bounds of a list.
const (
	usualPage  = 50
	mostInPage = 100
	mostInList = 16 << 20 // bytes of contents in one page, which is shorter then
)

// listParams is a ListTasksRequest.
type listParams struct {
	ContextID        string  `json:"contextId"`
	Status           string  `json:"status"`
	PageSize         *int    `json:"pageSize"`
	PageToken        string  `json:"pageToken"`
	HistoryLength    *int    `json:"historyLength"`
	After            *string `json:"statusTimestampAfter"`
	IncludeArtifacts bool    `json:"includeArtifacts"`

	after time.Time
	from  cursor
}

// cursor is the last task of the page before.
type cursor struct {
	since time.Time
	task  string
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.since.UnixMilli(), 10) + " " + c.task))
}

func parseCursor(s string) (cursor, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	ms, task, found := strings.Cut(string(b), " ")
	n, nerr := strconv.ParseInt(ms, 10, 64)
	_, known := parseTask(task)
	return cursor{time.UnixMilli(n), task}, err == nil && nerr == nil && found && known
}

// compare orders tasks: those whose status changed last come first.
func compare(a, b cursor) int {
	return cmp.Or(b.since.Compare(a.since), strings.Compare(b.task, a.task))
}

func (r *record) cursor() cursor { return cursor{r.since(), r.id.task} }

func (p *listParams) check() error {
	if p.PageSize != nil && (*p.PageSize < 1 || *p.PageSize > mostInPage) {
		return invalid("pageSize", "expected 1 to %d", mostInPage)
	}
	if p.Status == "TASK_STATE_UNSPECIFIED" {
		p.Status = ""
	}
	states := []a2a.TaskState{
		"", a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled,
		a2a.TaskStateInputRequired, a2a.TaskStateRejected, a2a.TaskStateAuthRequired,
	}
	if !slices.Contains(states, a2a.TaskState(p.Status)) {
		return invalid("status", "expected a state of a task")
	}
	if p.After != nil && *p.After != "" {
		var err error
		if p.after, err = time.Parse(time.RFC3339Nano, *p.After); err != nil {
			return invalid("statusTimestampAfter", "expected a time as in RFC 3339")
		}
	}
	if p.PageToken != "" {
		var ok bool
		if p.from, ok = parseCursor(p.PageToken); !ok {
			return invalid("pageToken", "expected a token of an earlier answer")
		}
	}
	return checkHistory("historyLength", p.HistoryLength)
}

// listTasks is ListTasks.
func (h *Host) listTasks(ctx context.Context, who a2e.Caller, p *listParams) (*a2a.ListTasksResponse, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	all, err := h.all(ctx, who)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r *record) bool { return !p.wants(r) })
	slices.SortFunc(all, func(a, b *record) int { return compare(a.cursor(), b.cursor()) })
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(all), PageSize: usualPage}
	if p.PageSize != nil {
		out.PageSize = *p.PageSize
	}
	rest := all
	if p.PageToken != "" {
		rest = slices.DeleteFunc(slices.Clone(all), func(r *record) bool { return compare(r.cursor(), p.from) <= 0 })
	}
	for bytes := 0; len(rest) > 0 && len(out.Tasks) < out.PageSize && bytes < h.page; rest = rest[1:] {
		t, size, err := h.listed(ctx, who, rest[0], p)
		if err != nil {
			return nil, err
		}
		bytes += size
		out.Tasks = append(out.Tasks, t)
		out.NextPageToken = rest[0].cursor().String()
	}
	if len(rest) == 0 {
		out.NextPageToken = ""
	}
	return out, nil
}

// wants reports whether a task passes the filters.
func (p *listParams) wants(r *record) bool {
	return (p.ContextID == "" || p.ContextID == r.id.context) &&
		(p.Status == "" || p.Status == string(r.state())) &&
		!r.since().Before(p.after)
}

// all returns a caller's tasks, of which the newest 10,000 calls tell, and those that have no call.
func (h *Host) all(ctx context.Context, who a2e.Caller) ([]*record, error) {
	calls, err := h.calls(ctx, who)
	if err != nil {
		return nil, err
	}
	var out []*record
	questions, known := map[string]*record{}, map[string]bool{}
	take := func(r *record) {
		if !known[r.id.task] {
			known[r.id.task] = true
			out = append(out, r)
		}
	}
	for _, c := range calls { // newest first: an answer comes before its question
		id, question, ok := parseRequest(c.ReqID)
		switch r := (&record{id: id, question: question, call: c}); {
		case !ok || c.Door != door:
		case question:
			questions[id.task] = r
		default:
			take(r)
		}
	}
	for _, r := range h.memory.all(who.Principal) {
		take(r)
	}
	for _, r := range questions {
		take(r)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.live {
		if t.who.Principal == who.Principal {
			take(t.submitted())
		}
	}
	return out, nil
}

// calls are a caller's own. Nobody in particular has those without a principal, which a journal finds among all of them.
func (h *Host) calls(ctx context.Context, who a2e.Caller) ([]control.Call, error) {
	if who.Principal != "" {
		return h.own(who).List(ctx, 0)
	}
	calls, err := h.control.List(ctx, 0)
	return slices.DeleteFunc(calls, func(c control.Call) bool { return c.Principal != "" }), err
}

// listed is a task as a list has it: artifacts and history only where they are asked for.
func (h *Host) listed(ctx context.Context, who a2e.Caller, r *record, p *listParams) (*a2a.Task, int, error) {
	length := p.HistoryLength
	if length == nil {
		length = ptr(0)
	}
	if r.answer == nil && r.call.ID != "" {
		newer, err := h.shown(ctx, who, r.id, r.question)
		if err != nil {
			return nil, 0, err
		}
		if newer != nil && newer.call.State == r.call.State {
			r = newer
		}
	}
	var got *pieces
	if p.IncludeArtifacts || *length > 0 {
		var err error
		if got, err = h.pieces(ctx, who, r, -1); err != nil {
			return nil, 0, err
		}
	}
	t := r.task(got, h.memory.history(who.Principal, r.id), length)
	if !p.IncludeArtifacts {
		t.Artifacts = nil
	}
	return t, weight(t), nil
}

// weight is about how many bytes a task's contents are.
func weight(t *a2a.Task) int {
	n := 0
	add := func(parts a2a.ContentParts) {
		for _, part := range parts {
			n += len(part.Raw()) + len(part.Text())
			if raw, ok := part.Data().(json.RawMessage); ok {
				n += len(raw)
			}
		}
	}
	for _, one := range t.Artifacts {
		add(one.Parts)
	}
	for _, m := range t.History {
		add(m.Parts)
	}
	if t.Status.Message != nil {
		add(t.Status.Message.Parts)
	}
	return n
}
