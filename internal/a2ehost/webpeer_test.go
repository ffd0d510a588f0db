package a2ehost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// webDoor is an HTTP door on a real socket.
type webDoor struct {
	t    testing.TB
	web  *Web
	base string
	http *http.Client
	stop func()
}

func serveWeb(t testing.TB, h *Host, opt WebOptions) *webDoor {
	t.Helper()
	web, err := h.Web(opt)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(web)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := web.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	d := &webDoor{t: t, web: web, base: srv.URL, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
	d.stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		d.http.CloseIdleConnections()
		srv.Close()
	})
	t.Cleanup(d.stop)
	return d
}

// webPeer is a client of one session.
type webPeer struct {
	t     testing.TB
	d     *webDoor
	id    string
	token string
	strm  *webStream
}

// webStream is one connection that listens.
type webStream struct {
	t    testing.TB
	resp *http.Response
	r    *bufio.Reader
	end  context.CancelFunc
}

func (d *webDoor) do(method, path, body string, header map[string]string) (int, string, http.Header) {
	d.t.Helper()
	req, err := http.NewRequest(method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		d.t.Errorf("%s %s: %v", method, path, err)
		return 0, "", nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Errorf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// session opens a session, with a token or none.
func (d *webDoor) session(token string) *webPeer {
	d.t.Helper()
	p := &webPeer{t: d.t, d: d, token: token}
	code, body, _ := d.do("POST", "/session", "", p.header())
	var got struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(body), &got); code != http.StatusOK || err != nil || len(got.ID) != 32 {
		d.t.Fatalf("POST /session = %d %s", code, body)
	}
	p.id = got.ID
	d.t.Cleanup(p.drop)
	return p
}

func (p *webPeer) header() map[string]string {
	h := map[string]string{"Content-Type": "text/plain"}
	if p.id != "" {
		h[sessionHeader] = p.id
	}
	if p.token != "" {
		h["Authorization"] = "Bearer " + p.token
	}
	return h
}

func (p *webPeer) post(body string) (int, string) {
	p.t.Helper()
	code, answer, _ := p.d.do("POST", "/send", body, p.header())
	return code, answer
}

func (p *webPeer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if code, body := p.post(line); code != http.StatusOK || body != `{"ok":true}` {
			p.t.Fatalf("POST /send %.80s = %d %s", line, code, body)
		}
	}
}

// connect opens a stream, which the server sees before the last one's end unless that was dropped.
func (p *webPeer) connect() *webStream {
	p.t.Helper()
	st, code := p.tryConnect()
	if st == nil {
		p.t.Fatalf("GET /stream = %d", code)
	}
	p.strm = st
	return st
}

func (p *webPeer) tryConnect() (*webStream, int) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", p.d.base+"/stream", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for k, v := range p.header() {
		req.Header.Set(k, v)
	}
	resp, err := p.d.http.Do(req)
	if err != nil {
		cancel() // one that was replaced before it began has no answer
		return nil, 0
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		cancel()
		return nil, resp.StatusCode
	}
	return &webStream{t: p.t, resp: resp, r: bufio.NewReader(resp.Body), end: cancel}, http.StatusOK
}

// drop ends the stream as a client does that goes away.
func (p *webPeer) drop() {
	if p.strm != nil {
		p.strm.close()
		p.strm = nil
	}
}

func (s *webStream) close() {
	s.end()
	_ = s.resp.Body.Close()
}

// line returns the next event's data. Nothing but data may stand there.
func (s *webStream) line() ([]byte, error) {
	late := time.AfterFunc(patience, s.end)
	defer late.Stop()
	line, err := s.r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	blank, err := s.r.ReadBytes('\n')
	if !ok || err != nil || string(blank) != "\n" {
		s.t.Errorf("stream has %q and %q, %v", line, blank, err)
	}
	return bytes.TrimSuffix(data, []byte("\n")), nil
}

func (s *webStream) recv() a2e.Message {
	s.t.Helper()
	line, err := s.line()
	if err != nil {
		s.t.Fatalf("stream: %v", err)
	}
	m, err := a2e.Parse(line)
	if err != nil {
		s.t.Fatalf("host said %s: %v", line, err)
	}
	return m
}

func heard[M a2e.Message](s *webStream) M {
	s.t.Helper()
	m := s.recv()
	got, ok := m.(M)
	if !ok {
		js, _ := json.Marshal(m)
		s.t.Fatalf("received %s, want a %T", js, got)
	}
	return got
}

func newRecorder(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, strings.NewReader(body)))
	return rec
}
