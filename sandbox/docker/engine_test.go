package docker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

// engine is a small Docker Engine behind a unix socket whose answers a test can replace. Containers run main.
type engine struct {
	t    *testing.T
	host string

	mu       sync.Mutex
	main     func(stdin io.Reader, stdout io.Writer) int // stdout takes raw frames
	replaced map[string]http.HandlerFunc                 // by "METHOD /path" with {id} for the container's
	calls    []string                                    // the keys of what was asked, in order
	boxes    map[string]*box                             // by id
	serial   int
	work     sync.WaitGroup
}

// box is a container.
type box struct {
	id, name string
	labels   map[string]string
	conn     net.Conn // attached
	running  bool
	code     int
	exited   chan struct{}
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{
		t: t, replaced: make(map[string]http.HandlerFunc), boxes: make(map[string]*box),
		main: func(io.Reader, io.Writer) int { return 0 },
	}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	e.host = "unix://" + socket
	server := &http.Server{Handler: e}
	e.work.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		e.mu.Lock()
		for _, b := range e.boxes {
			if b.conn != nil {
				_ = b.conn.Close()
			}
		}
		e.mu.Unlock()
		e.work.Wait()
	})
	return e
}

// replace answers a kind of request with h.
func (e *engine) replace(key string, h http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replaced[key] = h
}

// asked counts requests of a kind.
func (e *engine) asked(key string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.calls {
		if c == key {
			n++
		}
	}
	return n
}

// left returns the names of containers that are there.
func (e *engine) left() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for _, b := range e.boxes {
		names = append(names, b.name)
	}
	return names
}

func (e *engine) driver(t *testing.T, limits Timeouts) *Driver {
	t.Helper()
	return open(t, Options{Host: e.host, Instance: "test", Timeouts: limits})
}

// key turns "/v1.41/containers/<id>/start" into "POST /containers/{id}/start", and returns the id.
func key(r *http.Request) (string, string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if strings.HasPrefix(parts[0], "v1.") {
		parts = parts[1:]
	}
	id := ""
	if len(parts) > 1 && parts[0] == "containers" && parts[1] != "json" && parts[1] != "create" {
		id, parts[1] = parts[1], "{id}"
	}
	return r.Method + " /" + strings.Join(parts, "/"), id
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k, id := key(r)
	e.mu.Lock()
	e.calls = append(e.calls, k)
	h := e.replaced[k]
	b := e.boxes[id]
	e.mu.Unlock()
	w.Header().Set("Api-Version", "1.41")
	if h != nil {
		h(w, r)
		return
	}
	if id != "" && b == nil {
		fail(w, 404, "No such container: "+id)
		return
	}
	e.answer(w, r, k, b)
}

func (e *engine) answer(w http.ResponseWriter, r *http.Request, k string, b *box) {
	switch k {
	case "HEAD /_ping", "GET /_ping":
	case "GET /info":
		reply(w, 200, map[string]any{"ServerVersion": "20.10.24", "OSType": "linux", "Architecture": "x86_64", "NCPU": 2, "MemTotal": 1 << 30})
	case "POST /containers/create":
		reply(w, 201, map[string]any{"Id": e.create(r).id})
	case "GET /containers/json":
		reply(w, 200, e.list(r))
	case "POST /containers/{id}/attach":
		e.attach(w, b)
	case "POST /containers/{id}/wait":
		e.wait(w, r, b)
	case "POST /containers/{id}/start":
		e.start(b)
		w.WriteHeader(204)
	case "GET /containers/{id}/json":
		e.mu.Lock()
		defer e.mu.Unlock()
		status := "exited"
		if b.running {
			status = "running"
		}
		reply(w, 200, map[string]any{"Id": b.id, "State": map[string]any{"Status": status, "Running": b.running, "ExitCode": b.code}})
	case "POST /containers/{id}/kill":
		e.kill(b)
		w.WriteHeader(204)
	case "DELETE /containers/{id}":
		e.kill(b)
		e.mu.Lock()
		delete(e.boxes, b.id)
		e.mu.Unlock()
		w.WriteHeader(204)
	default:
		fail(w, 501, "not in this engine: "+k)
	}
}

func (e *engine) create(r *http.Request) *box {
	var body struct{ Labels map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		e.t.Error(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serial++
	b := &box{id: fmt.Sprintf("%064d", e.serial), name: r.URL.Query().Get("name"), labels: body.Labels, exited: make(chan struct{})}
	e.boxes[b.id] = b
	return b
}

// list honours the filters by name and id.
func (e *engine) list(r *http.Request) []map[string]any {
	filters := r.URL.Query().Get("filters")
	e.mu.Lock()
	defer e.mu.Unlock()
	out := []map[string]any{}
	for _, b := range e.boxes {
		if strings.Contains(filters, `"name"`) && !strings.Contains(filters, b.name) || strings.Contains(filters, `"id"`) && !strings.Contains(filters, b.id) {
			continue
		}
		out = append(out, map[string]any{"Id": b.id, "Names": []string{"/" + b.name}, "Labels": b.labels, "State": "created"})
	}
	return out
}

func (e *engine) attach(w http.ResponseWriter, b *box) {
	conn := hijack(e.t, w)
	e.mu.Lock()
	b.conn = conn
	e.mu.Unlock()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
}

func hijack(t *testing.T, w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
	}
	return conn
}

// wait answers at once where the condition is not the one that a container which has not started can wait for.
func (e *engine) wait(w http.ResponseWriter, r *http.Request, b *box) {
	e.mu.Lock()
	running := b.running
	e.mu.Unlock()
	w.WriteHeader(200)
	_ = http.NewResponseController(w).Flush()
	if r.URL.Query().Get("condition") == "next-exit" || running {
		select {
		case <-b.exited:
		case <-r.Context().Done():
			return
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"StatusCode": b.code})
}

func (e *engine) start(b *box) {
	e.mu.Lock()
	b.running = true
	conn, main := b.conn, e.main
	e.mu.Unlock()
	e.work.Go(func() {
		code := main(conn, conn)
		e.exit(b, code)
		_ = conn.Close()
	})
}

func (e *engine) exit(b *box, code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.running {
		b.running, b.code = false, code
		close(b.exited)
	}
}

func (e *engine) kill(b *box) {
	e.exit(b, 137)
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.conn != nil {
		_ = b.conn.Close()
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"message": message})
}

// cut closes the connection without an answer.
func cut(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = hijack(t, w).Close() }
}

// frame is one frame of a stream.
func frame(stream byte, payload string) string {
	header := make([]byte, 8)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(payload)))
	return string(header) + payload
}

func testSpec() *sandbox.Spec {
	spec := sandboxtest.NewSpec("/bin/program")
	spec.Image.ID = "sha256:" + strings.Repeat("1", 64)
	return spec
}
