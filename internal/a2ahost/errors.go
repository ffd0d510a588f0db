package a2ahost

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

const badRequestType = "type.googleapis.com/google.rpc.BadRequest"

// errBusy: more tasks are in flight than this door carries.
var errBusy = errors.New("too many tasks are in flight: try again later")

// errMethod: a path of HTTP+JSON knows another method.
var errMethod = errors.New("method not allowed")

// fault is an error of A2A as both bindings answer it.
type fault struct {
	kind       error // one of the SDK's, or errBusy
	message    string
	violations []violation
	task       string
}

type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

func (f *fault) Error() string { return f.message }
func (f *fault) Unwrap() error { return f.kind }

func faultf(kind error, format string, args ...any) *fault {
	return &fault{kind: kind, message: fmt.Sprintf(format, args...)}
}

// invalid is a parameter that can't be what it is.
func invalid(field, format string, args ...any) *fault {
	why := fmt.Sprintf(format, args...)
	return &fault{kind: a2a.ErrInvalidParams, message: "invalid parameters: " + field + ": " + why, violations: []violation{{field, why}}}
}

// notFound is the answer for a task that does not exist, and for one of somebody else.
func notFound(id string) *fault {
	return &fault{kind: a2a.ErrTaskNotFound, message: "task not found", task: clip(id, 80)}
}

// of returns the fault with the task that it is about.
func (f *fault) of(id string) *fault { f.task = id; return f }

// place is what a kind of fault is in each binding.
type place struct {
	kind   error
	code   int // of JSON-RPC
	status int // of HTTP
	name   string
}

func places() []place {
	return []place{
		{a2a.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrMethodNotFound, -32601, http.StatusNotFound, "NOT_FOUND"},
		{a2a.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
		{a2a.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{errMethod, -32600, http.StatusMethodNotAllowed, "INVALID_ARGUMENT"},
		{errBusy, -32000, http.StatusServiceUnavailable, "UNAVAILABLE"},
	}
}

func placed(kind error) place {
	for _, p := range places() {
		if errors.Is(kind, p.kind) {
			return p
		}
	}
	return place{a2a.ErrInternalError, -32603, http.StatusInternalServerError, "INTERNAL"}
}

// details are the typed facts of a fault.
func (f *fault) details() []*errordetails.Typed {
	var out []*errordetails.Typed
	if len(f.violations) > 0 {
		out = append(out, errordetails.NewTyped(badRequestType, map[string]any{"fieldViolations": f.violations}))
	}
	meta := map[string]string{"timestamp": time.Now().UTC().Format(time.RFC3339)}
	if f.task != "" {
		meta["taskId"] = f.task
	}
	reason := a2a.ErrorReason(f.kind)
	switch f.kind {
	case errBusy:
		reason = "UNAVAILABLE"
	case errMethod:
		reason = "INVALID_REQUEST"
	}
	return append(out, errordetails.NewErrorInfo(reason, a2a.ProtocolDomain, meta))
}

// rpcError is the error object of JSON-RPC.
type rpcError struct {
	Code    int                   `json:"code"`
	Message string                `json:"message"`
	Data    []*errordetails.Typed `json:"data,omitempty"`
}

func (f *fault) rpc() *rpcError { return &rpcError{placed(f.kind).code, f.message, f.details()} }

// statusBody is the error body of HTTP+JSON: a google.rpc.Status.
type statusBody struct {
	Error struct {
		Code    int                   `json:"code"`
		Status  string                `json:"status"`
		Message string                `json:"message"`
		Details []*errordetails.Typed `json:"details"`
	} `json:"error"`
}

func (f *fault) body() (int, statusBody) {
	p := placed(f.kind)
	var b statusBody
	b.Error.Code, b.Error.Status, b.Error.Message, b.Error.Details = p.status, p.name, f.message, f.details()
	return p.status, b
}

// fault returns err as one that can be answered. What is not classified goes to the log alone.
func (h *Host) fault(err error, doing string) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	h.log.Error("a2a", "doing", doing, "error", err)
	return faultf(a2a.ErrInternalError, "internal error")
}

func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "..."
		}
		n--
	}
	return s
}
