package a2ahost

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// rpcRequest is a request of JSON-RPC.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// rpcAnswer is its answer: a result or an error.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (q *rpcRequest) answer(result any) any { return rpcAnswer{"2.0", q.ID, result, nil} }

// serveRPC answers one request of JSON-RPC.
func (h *Host) serveRPC(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		status, body := (&fault{kind: errMethod, message: "expected POST"}).body()
		writeJSON(w, status, mediaJSON, body)
		return
	}
	q, err := readRPC(r)
	if err != nil {
		h.failRPC(w, r, q, err)
		return
	}
	who := auth.FromContext(r.Context()).Caller(door)
	if q.Method == "SendStreamingMessage" || q.Method == "SubscribeToTask" {
		h.streamRPC(w, r, q, who)
		return
	}
	result, err := h.callRPC(r, q, who)
	if err != nil {
		h.failRPC(w, r, q, err)
		return
	}
	writeJSON(w, http.StatusOK, mediaJSON, q.answer(result))
}

// readRPC reads a request. Where it can't, what it returns has an id to answer to: null, if nothing else.
func readRPC(r *http.Request) (*rpcRequest, error) {
	q := &rpcRequest{ID: json.RawMessage("null")}
	if err := carriesJSON(r); err != nil {
		return q, err
	}
	b, err := readBody(r.Body)
	if err == nil {
		err = wellFormed(b)
	}
	if err != nil {
		return q, err
	}
	var in rpcRequest
	if json.Unmarshal(b, &in) != nil {
		return q, faultf(a2a.ErrInvalidRequest, "expected one request object of JSON-RPC")
	}
	if !validID(in.ID) {
		return q, faultf(a2a.ErrInvalidRequest, "id: expected a text or a number")
	}
	q.ID = in.ID
	switch {
	case in.Version != "2.0":
		return q, faultf(a2a.ErrInvalidRequest, "jsonrpc: expected 2.0")
	case in.Method == "":
		return q, faultf(a2a.ErrInvalidRequest, "method: a method is required")
	case len(in.Params) > 0 && in.Params[0] != '{' && string(in.Params) != "null":
		return q, invalid("params", "expected an object")
	}
	if string(in.Params) == "null" {
		in.Params = nil
	}
	return &in, nil
}

// validID takes texts and numbers, and null, which some clients send. A request without one wants no answer, and there is
// no operation of that kind.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > 1024 {
		return false
	}
	switch id[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

func (h *Host) failRPC(w http.ResponseWriter, r *http.Request, q *rpcRequest, err error) {
	if left(r, err) {
		return
	}
	f := h.fault(err, q.Method)
	writeJSON(w, http.StatusOK, mediaJSON, rpcAnswer{"2.0", q.ID, nil, f.rpc()})
}

// callRPC runs an operation that has one answer.
func (h *Host) callRPC(r *http.Request, q *rpcRequest, who a2e.Caller) (any, error) {
	if err := h.speaks(r); err != nil {
		return nil, err
	}
	ctx := r.Context()
	switch q.Method {
	case "SendMessage":
		var p sendParams
		if err := decode(q.Params, &p); err != nil {
			return nil, err
		}
		t, err := h.sendMessage(ctx, who, &p, len(q.Params))
		return a2a.StreamResponse{Event: t}, err
	case "GetTask", "CancelTask":
		var p taskParams
		if err := decode(q.Params, &p); err != nil {
			return nil, err
		}
		if q.Method == "GetTask" {
			return h.getTask(ctx, who, &p)
		}
		return h.cancelTask(ctx, who, &p)
	case "ListTasks":
		var p listParams
		if err := decode(q.Params, &p); err != nil {
			return nil, err
		}
		return h.listTasks(ctx, who, &p)
	case "GetExtendedAgentCard":
		return h.extended(r, who)
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return nil, noPush()
	}
	return nil, faultf(a2a.ErrMethodNotFound, "method not found")
}

func noPush() error {
	return faultf(a2a.ErrPushNotificationNotSupported, "push notifications are not supported")
}

// streamRPC runs an operation that answers with a stream. What goes wrong before its first event is a plain answer, but for
// the Go SDK, which reads events alone.
func (h *Host) streamRPC(w http.ResponseWriter, r *http.Request, q *rpcRequest, who a2e.Caller) {
	e := newEvents(w, q.answer)
	err := h.stream(r.Context(), e, func(ctx context.Context) error {
		if err := h.speaks(r); err != nil {
			return err
		}
		if q.Method == "SubscribeToTask" {
			var p taskParams
			if err := decode(q.Params, &p); err != nil {
				return err
			}
			return h.subscribe(ctx, who, &p, e.emit)
		}
		var p sendParams
		if err := decode(q.Params, &p); err != nil {
			return err
		}
		return h.sendStreaming(ctx, who, &p, len(q.Params), e.emit)
	})
	switch {
	case err == nil || left(r, err):
	case !e.open() && readerOf(r) != goSDK:
		h.failRPC(w, r, q, err)
	default:
		_ = e.send(rpcAnswer{"2.0", q.ID, nil, h.fault(err, q.Method).rpc()}) // the client may have gone
	}
}
