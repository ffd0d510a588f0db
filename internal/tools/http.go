package tools

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/clever"
	"github.com/hotcell/hotcell/internal/wall"
)

// pathTools is where the gate is; behind it and a slash comes a tool's name.
const pathTools = "/v1/tools"

// web makes an HTTP server of the grant's.
func (g *grant) web() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(g.handle),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
}

// answer is the body of an answer to a use.
type answer struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
	Code    string          `json:"code,omitempty"`
}

func (g *grant) handle(w http.ResponseWriter, r *http.Request) {
	call, err := g.known(r)
	if err != nil {
		refuse(w, mapped(err, g.ask.Skill.Name, ""))
		return
	}
	select {
	case g.desk <- struct{}{}:
		defer func() { <-g.desk }()
	case <-call.Done(): // the connection's own end is not seen before the body is read
		return
	case <-r.Context().Done():
		return
	}
	name, one := strings.CutPrefix(r.URL.Path, pathTools+"/")
	switch {
	case r.URL.Path == pathTools && r.Method == http.MethodGet:
		reply(w, http.StatusOK, map[string]any{"tools": described(g.definitions())})
	case one && r.Method == http.MethodPost:
		g.post(w, r, name)
	case r.URL.Path == pathTools, one:
		w.Header().Set("Allow", map[bool]string{false: "GET", true: "POST"}[one])
		reply(w, http.StatusMethodNotAllowed, answer{Error: fmt.Sprintf("%s is not possible here", clip(r.Method)), Code: string(clever.ValidationFailure)})
	default:
		reply(w, http.StatusNotFound, answer{
			Error: "there is nothing here: GET " + pathTools + " and POST " + pathTools + "/NAME are served", Code: string(clever.ValidationFailure),
		})
	}
}

// known checks that the right is there, and that it is this cell's. The context ends with the right.
func (g *grant) known(r *http.Request) (context.Context, error) {
	call, token, err := g.active()
	if err != nil {
		return nil, err
	}
	shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" || subtle.ConstantTimeCompare([]byte(shown), []byte(token)) != 1 {
		return nil, denied(fmt.Errorf("not this cell's token: send Authorization: Bearer $%s", wall.EnvToken))
	}
	return call, nil
}

func (g *grant) post(w http.ResponseWriter, r *http.Request, name string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArguments))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		err = invalid(fmt.Errorf("arguments: more than %d bytes", maxArguments))
		reply(w, http.StatusRequestEntityTooLarge, failed(mapped(err, g.ask.Skill.Name, clip(name))))
		return
	case err != nil:
		return // the cell hung up
	}
	data, failure := g.use(r.Context(), name, body)
	if failure != nil {
		refuse(w, *failure)
		return
	}
	reply(w, http.StatusOK, answer{Success: true, Data: data})
}

func refuse(w http.ResponseWriter, e clever.SkillError) { reply(w, status(e.Type()), failed(e)) }

func failed(e clever.SkillError) answer {
	return answer{Error: cut(e.Message(), maxError), Code: string(e.Type())}
}

func reply(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n'))
}

// described renders definitions with every field, since readers look for writes also where it is false.
func described(defs []wall.ToolDef) []map[string]any {
	out := make([]map[string]any, 0, len(defs))
	for _, d := range defs {
		out = append(out, map[string]any{
			"name": d.Name, "description": d.Description, "input_schema": d.InputSchema, "writes": d.Writes,
		})
	}
	return out
}

// oneConn is a listener that has one connection, and ends with it.
type oneConn struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
	taken  bool
}

func newOneConn(conn net.Conn) *oneConn { return &oneConn{conn: conn, closed: make(chan struct{})} }

// Accept implements [net.Listener]. One goroutine alone calls it.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return &servedConn{Conn: l.conn, listener: l}, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// servedConn tells its listener when it is closed.
type servedConn struct {
	net.Conn
	listener *oneConn
}

func (c *servedConn) Close() error {
	defer func() { _ = c.listener.Close() }()
	return c.Conn.Close()
}
