package mcphost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
)

// Headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

const (
	allBodies   = 256 << 20        // bytes of all messages that are being served, half as many of one principal
	ownBody     = 64 << 10         // bytes of a message that there is always room for
	maxBatch    = 64               // messages in one body, where a revision allows several
	streamLife  = 15 * time.Minute // of a GET, or of a subscription without a session: then the client comes again and shows once more who it is
	writeWithin = 30 * time.Second // for a client to take what it is sent
	codeSession = -32001           // no such session
)

// Patterns is what [Host.ServeHTTP] serves of a listener.
func Patterns() []string { return []string{"POST /mcp", "GET /mcp", "DELETE /mcp"} }

type serverKey struct{}

// serverOf is the SDK's server for a request, which [Host.ServeHTTP] put into its context.
func serverOf(r *http.Request) *mcp.Server {
	s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return s
}

func with(r *http.Request, p *peer) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), serverKey{}, p.server))
}

// ServeHTTP is the endpoint of streamable HTTP. Who asks is the identity in the request's context; Host, Origin and the
// content type were checked before.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who := auth.FromContext(r.Context())
	stateless := r.Header.Get(versionHeader) >= statelessRevision
	if r.Method != http.MethodPost {
		if stateless { // such revisions only post
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "expected POST")
			return
		}
		h.existing(w, r, who)
		return
	}
	done, ok := h.room(who.Principal, r.ContentLength)
	if !ok {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternalError, "too many large messages are being served already: try again later")
		return
	}
	defer done()
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	w = unhurried(w)
	switch {
	case stateless:
		h.once(w, r, who)
	case r.Header.Get(sessionHeader) != "":
		h.existing(w, r, who)
	case opens(body):
		h.first(w, r, who)
	default:
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "expected "+sessionHeader+", or an initialize request")
	}
}

// room takes room for a message, of unknown length for the largest that there may be.
func (h *Host) room(principal string, n int64) (done func(), ok bool) {
	if n < 0 {
		n = MaxBody
	}
	if n <= ownBody {
		return func() {}, true
	}
	return h.bodies.Take(principal, n)
}

// once serves a request of a revision without sessions. It ends with its connection.
func (h *Host) once(w http.ResponseWriter, r *http.Request, who auth.Identity) {
	p := h.newPeer(h.life, who.Caller(Door), "")
	defer p.end()
	h.stateless.ServeHTTP(w, with(r, p))
}

// first opens a session.
func (h *Host) first(w http.ResponseWriter, r *http.Request, who auth.Identity) {
	s, err := h.sessions.open(who)
	if err != nil {
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternalError, err.Error())
		return
	}
	defer h.sessions.leave(s)
	h.stateful.ServeHTTP(w, with(r, s.peer))
	for range s.server.Sessions() {
		return
	}
	h.sessions.end(s) // it was no handshake after all
}

// existing serves a request within a session. One of somebody else is one that is not there.
func (h *Host) existing(w http.ResponseWriter, r *http.Request, who auth.Identity) {
	if r.Header.Get(sessionHeader) == "" {
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "expected "+sessionHeader)
		return
	}
	s, ok := h.sessions.enter(r.Header.Get(sessionHeader), who)
	if !ok {
		refuse(w, http.StatusNotFound, codeSession, "session not found: initialize a new one")
		return
	}
	defer h.sessions.leave(s)
	switch r.Method {
	case http.MethodDelete:
		s.peer.end() // its calls, which the SDK waits for
		defer h.sessions.end(s)
	case http.MethodGet:
		w = unhurried(w)
		ctx, cancel := context.WithTimeout(r.Context(), streamLife)
		defer cancel()
		r = r.WithContext(ctx)
	}
	h.stateful.ServeHTTP(w, with(r, s.peer))
}

// readBody reads a request's message and puts it back for the SDK. It answers what is none.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is larger than %d bytes", large.Limit))
		return nil, false
	case err != nil:
		refuse(w, http.StatusBadRequest, jsonrpc.CodeParseError, "the message could not be read")
		return nil, false
	case !json.Valid(body):
		refuse(w, http.StatusBadRequest, jsonrpc.CodeParseError, "the message is not JSON")
		return nil, false
	}
	messages, _ := split(body)
	if len(messages) == 0 || len(messages) > maxBatch {
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("expected 1 to %d messages", maxBatch))
		return nil, false
	}
	for _, m := range messages {
		if _, why := checkMessage(m); why != "" {
			refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, why)
			return nil, false
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// opens reports whether a message opens a session.
func opens(body []byte) bool {
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(body, &m) == nil && m.Method == "initialize"
}

// refuse answers a request that has no place in the protocol, as an error of JSON-RPC without an id.
func refuse(w http.ResponseWriter, status int, code int64, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(nullError(code, message))
}

// nullError is an error that no request can be given for.
func nullError(code int64, message string) []byte {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message}})
	return b
}

// patient is an answer that may take as long as the call does, if only the client takes what it is sent.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

// unhurried lifts the deadlines of the listener, which are for answers that come at once.
func unhurried(w http.ResponseWriter) http.ResponseWriter {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // a test's recorder has none
	return &patient{w, c}
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeWithin))
	return p.ResponseWriter.Write(b)
}

// FlushError is what a [http.ResponseController] looks for.
func (p *patient) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeWithin))
	return p.control.Flush()
}

// Unwrap gives it the rest.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
