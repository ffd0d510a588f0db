package doors

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// session is a client's end of an A2E session. It makes calls at once and tells their messages apart.
type session struct {
	send   func(ctx context.Context, m a2e.Message) error
	cancel func(ctx context.Context, id string) error // asks a call to end; its answer comes all the same

	mu    sync.Mutex
	calls map[string]chan a2e.Message
	ended error
}

// read takes what the daemon says, until there is no more.
func (s *session) read(next func() (a2e.Message, error)) {
	for {
		m, err := next()
		if err != nil {
			s.end(err)
			return
		}
		id := ""
		switch m := m.(type) {
		case *a2e.Event:
			id = m.ReqID
		case *a2e.CallResponse:
			id = m.ReqID
		case *a2e.ErrorMessage:
			id = m.ReqID
		}
		s.mu.Lock()
		to := s.calls[id]
		s.mu.Unlock()
		if to != nil {
			to <- m
		}
	}
}

func (s *session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
	for _, c := range s.calls {
		close(c)
	}
	s.calls = nil
}

// expect makes a place for what comes for a call.
func (s *session) expect(id string) (chan a2e.Message, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return nil, nil, s.ended
	}
	if s.calls == nil {
		s.calls = map[string]chan a2e.Message{}
	}
	c := make(chan a2e.Message, 1000) // more than any skill of the catalogue says: the reader never waits
	s.calls[id] = c
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, id)
	}, nil
}

func (s *session) call(ctx context.Context, c call) (outcome, error) {
	req := requestOf(c)
	from, forget, err := s.expect(req.ID)
	if err != nil {
		return outcome{}, err
	}
	defer forget()
	if err := s.send(ctx, req); err != nil {
		return outcome{}, err
	}
	var g gathered
	for cancelled := false; ; {
		select {
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		case m, ok := <-from:
			if !ok {
				return outcome{}, errors.New("the session ended before the call")
			}
			if o, done, err := g.take(m); done || err != nil {
				return o, err
			}
			if c.Cancel && !cancelled {
				cancelled = true
				if err := s.cancel(ctx, req.ID); err != nil {
					return outcome{}, err
				}
			}
		}
	}
}

func requestOf(c call) *a2e.CallRequest {
	return &a2e.CallRequest{Header: a2e.Header{ID: cmp.Or(c.ID, a2e.NewID())}, Name: c.Skill, Arguments: c.Args}
}

// gathered is what A2E's messages said of one call so far.
type gathered struct {
	said  []string
	files map[string]hash.Hash
}

// take returns the outcome once the answer is there.
func (g *gathered) take(m a2e.Message) (o outcome, done bool, err error) {
	switch m := m.(type) {
	case *a2e.Event:
		switch m.Kind {
		case a2e.KindProgress:
			g.said = append(g.said, fmt.Sprint(m.Data["message"]))
		case a2e.KindArtifact:
			return o, false, g.chunk(m.Data)
		}
		return o, false, nil
	case *a2e.ErrorMessage:
		return o, false, fmt.Errorf("%s: %s", m.Code, m.Message)
	case *a2e.CallResponse:
		o = outcome{Said: g.said, Files: map[string]string{}}
		for name, sum := range g.files {
			o.Files[name] = hex.EncodeToString(sum.Sum(nil))
		}
		if m.Error != nil {
			o.Code, o.Reason = string(m.Error.Code), m.Error.Reason()
			return o, true, nil
		}
		if m.Data == nil || !m.Data.Success {
			return o, true, errors.New("the answer has neither an error nor a success")
		}
		o.Data = m.Data.Data
		return o, true, nil
	}
	return o, false, fmt.Errorf("unexpected %T", m)
}

func (g *gathered) chunk(data map[string]any) error {
	name, _ := data["name"].(string)
	text, _ := data["chunk"].(string)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("artifact %q: %w", name, err)
	}
	if g.files == nil {
		g.files = map[string]hash.Hash{}
	}
	if g.files[name] == nil {
		g.files[name] = sha256.New()
	}
	_, _ = g.files[name].Write(b)
	return nil
}

// overStdio is `hotcell stdio`, a process of the client's own. Calls end with their session alone, so a call that is to be
// cancelled has one of its own.
func overStdio(t *testing.T, d *daemon) caller {
	shared, end := d.stdio(t)
	t.Cleanup(end)
	return func(ctx context.Context, c call) (outcome, error) {
		if !c.Cancel {
			return shared.call(ctx, c)
		}
		alone, hangUp := d.stdio(t)
		defer hangUp()
		return hungUp(ctx, d, alone, hangUp, c)
	}
}

// hungUp makes a call whose session is cut once it has said something, and asks the journal what became of it.
func hungUp(ctx context.Context, d *daemon, s *session, hangUp func(), c call) (outcome, error) {
	req := requestOf(c)
	from, forget, err := s.expect(req.ID)
	if err != nil {
		return outcome{}, err
	}
	defer forget()
	if err := s.send(ctx, req); err != nil {
		return outcome{}, err
	}
	var g gathered
	select {
	case m := <-from:
		if o, done, err := g.take(m); done || err != nil {
			return o, errors.Join(err, errors.New("the call ended by itself"))
		}
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	}
	hangUp()
	o, err := d.ended(ctx, req.ID)
	o.Said = g.said
	return o, err
}

// stdio starts a process. What it returns beside hangs up, and waits for its end.
func (d *daemon) stdio(t *testing.T) (*session, func()) {
	t.Helper()
	cmd := exec.Command(d.bin, "stdio")
	cmd.Dir, cmd.Env = d.dir, d.env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := lineSession(in, d)
	var reading sync.WaitGroup
	reading.Go(func() { s.read(lines(out)) })
	return s, sync.OnceFunc(func() {
		_ = in.Close()
		_ = out.Close()
		kill := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait() // 141: its reader has gone
		reading.Wait()
	})
}

// overSocket is one connection to the daemon's unix socket.
func overSocket(t *testing.T, d *daemon) caller {
	shared, end := d.dial(t)
	t.Cleanup(end)
	return func(ctx context.Context, c call) (outcome, error) {
		if !c.Cancel {
			return shared.call(ctx, c)
		}
		alone, hangUp := d.dial(t)
		defer hangUp()
		return hungUp(ctx, d, alone, hangUp, c)
	}
}

func (d *daemon) dial(t *testing.T) (*session, func()) {
	t.Helper()
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := lineSession(conn, d)
	var reading sync.WaitGroup
	reading.Go(func() { s.read(lines(conn)) })
	if err := s.send(t.Context(), &a2e.HandshakeRequest{Header: a2e.Header{ID: a2e.NewID()}, AgentCaps: []string{"skill"}, AuthToken: d.token}); err != nil {
		t.Error(err)
	}
	return s, sync.OnceFunc(func() {
		_ = conn.Close()
		reading.Wait()
	})
}

func lineSession(w io.Writer, d *daemon) *session {
	enc := a2e.NewEncoder(w)
	return &session{send: func(_ context.Context, m a2e.Message) error { return enc.Encode(m) }, cancel: d.cancel}
}

// overHTTP is a session over HTTP: messages are posted one by one, and come back as server-sent events.
func overHTTP(t *testing.T, d *daemon) caller {
	var opened struct {
		SessionID string `json:"session_id"`
	}
	if err := ask(t.Context(), d.http, http.MethodPost, d.url+"/session", "", &opened); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stream, err := d.withSession(ctx, http.MethodGet, "/stream", opened.SessionID, nil)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	s := &session{cancel: d.cancel, send: func(ctx context.Context, m a2e.Message) error {
		var line bytes.Buffer
		if err := a2e.NewEncoder(&line).Encode(m); err != nil {
			return err
		}
		resp, err := d.withSession(ctx, http.MethodPost, "/send", opened.SessionID, &line)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}}
	var reading sync.WaitGroup
	reading.Go(func() { s.read(serverSent(stream.Body)) })
	t.Cleanup(func() {
		stop()
		reading.Wait()
		_ = stream.Body.Close()
	})
	return s.call
}

func (d *daemon) withSession(ctx context.Context, method, path, id string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Session-Id", id)
	if body != nil {
		req.Header.Set("Content-Type", "text/plain")
	}
	resp, err := d.http.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return resp, err
}

// lines reads the messages of a stream of lines.
func lines(r io.Reader) func() (a2e.Message, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	return func() (a2e.Message, error) {
		line, err := in.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			return nil, err
		}
		return message(line) // an answer of REST may have no line's end
	}
}

// message reads one message. Pieces of files are read by the standard library alone: with the race detector what the codec
// checks of five megabytes takes longer than all else here.
func message(line []byte) (a2e.Message, error) {
	line = bytes.TrimSpace(line)
	head := line[:min(len(line), 512)] // what is before the data, or more
	if !bytes.HasPrefix(head, []byte(`{"type":"skill/event"`)) || !bytes.Contains(head, []byte(`"kind":"artifact"`)) {
		return a2e.Parse(line)
	}
	var ev struct {
		Kind  string
		ReqID string `json:"req_id"`
		Data  map[string]any
	}
	if err := json.Unmarshal(line, &ev); err != nil || ev.Kind != a2e.KindArtifact {
		return nil, fmt.Errorf("%.100s: expected an artifact: %w", line, err)
	}
	return &a2e.Event{Kind: ev.Kind, ReqID: ev.ReqID, Data: ev.Data}, nil
}

// serverSent reads the messages of server-sent events.
func serverSent(r io.Reader) func() (a2e.Message, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	return func() (a2e.Message, error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return nil, err
			}
			if text, ok := strings.CutPrefix(line, "data:"); ok {
				return message([]byte(strings.TrimSpace(text)))
			}
		}
	}
}

// a2eDoors are the three transports of A2E, with this module's own codec: there is no official client for Go.
func a2eDoors() []door {
	return []door{
		{name: "A2E stdio", open: overStdio, none: ownProcess()},
		{name: "A2E unix socket", open: overSocket},
		{name: "A2E HTTP", open: overHTTP},
	}
}
