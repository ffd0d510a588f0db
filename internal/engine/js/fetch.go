package js

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/grafana/sobek"
	"github.com/hotcell/hotcell/internal/engine"
)

const (
	maxBody  = 64 << 20 // bytes of an answer that is read as a whole
	maxPiece = 64 << 10 // bytes of one piece of an answer that is read in pieces
)

// fetcher makes HTTP requests: to the cell's loopback, and through the proxy that the cell was given.
type fetcher struct {
	cfg       *engine.Config
	transport *http.Transport
	open      []*response // that nobody has read yet; the script's goroutine's alone
}

func newFetcher(cfg *engine.Config) *fetcher {
	f := &fetcher{cfg: cfg}
	f.transport = &http.Transport{Proxy: f.proxy, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, OnProxyConnectResponse: connected}
	return f
}

func (f *fetcher) close() {
	for _, resp := range f.open {
		resp.close() // whoever wanted it is gone
	}
	f.transport.CloseIdleConnections()
}

// connected reads the proxy's answer to a CONNECT. The reason is in its status line.
func connected(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the cell's proxy answered %s", engine.OneLine(resp.Status, 300))
}

var errNoNetwork = errors.New("this cell has no network: network.allow in skill.yaml must name the host, and the operator allow it")

func (f *fetcher) proxy(req *http.Request) (*url.URL, error) {
	if loopback(req.URL.Hostname()) {
		return nil, nil
	}
	names := []string{"HTTP_PROXY", "http_proxy"}
	if req.URL.Scheme == "https" {
		names = []string{"HTTPS_PROXY", "https_proxy"}
	}
	for _, name := range names {
		if value := f.cfg.Getenv(name); value != "" {
			return url.Parse(value)
		}
	}
	return nil, errNoNetwork
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// request is one fetch as the prelude hands it over.
type request struct {
	method, url, redirect string
	headers               [][2]string
	body                  []byte
	hasBody               bool
}

// response is what came back. Its body is read while the script runs.
type response struct {
	status     int
	statusText string
	url        string
	redirected bool
	headers    [][]string
	body       io.ReadCloser

	over    atomic.Bool // nothing more comes of it, or is wanted
	dropped atomic.Bool // for the answers that came later
}

func (f *fetcher) do(ctx context.Context, r request) (*response, error) {
	var body io.Reader
	if r.hasBody {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, errors.New("expected a URL that begins with http:// or https://")
	}
	for _, h := range r.headers {
		req.Header.Add(h[0], h[1])
	}
	client := &http.Client{Transport: f.transport, CheckRedirect: follow(r.redirect)}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	out := &response{status: resp.StatusCode, statusText: http.StatusText(resp.StatusCode), url: resp.Request.URL.String(), body: resp.Body}
	out.redirected = resp.Request != req
	for name, values := range resp.Header {
		for _, v := range values {
			out.headers = append(out.headers, []string{name, v})
		}
	}
	return out, nil
}

func follow(redirect string) func(*http.Request, []*http.Request) error {
	return func(_ *http.Request, via []*http.Request) error {
		const most = 10
		switch {
		case redirect == "manual":
			return http.ErrUseLastResponse
		case redirect == "error":
			return errors.New("it redirects, and redirect is \"error\"")
		case len(via) >= most:
			return fmt.Errorf("more than %d redirects", most)
		}
		return nil
	}
}

// fetchNative is what the prelude's fetch calls: method, URL, headers as pairs, body or null, redirect.
func (s *script) fetchNative(call sobek.FunctionCall) sobek.Value {
	r := request{method: call.Argument(0).String(), url: call.Argument(1).String(), redirect: call.Argument(4).String()}
	if err := s.rt.ExportTo(call.Argument(2), &r.headers); err != nil {
		panic(s.rt.NewTypeError("fetch: headers: %s", err.Error()))
	}
	if body := call.Argument(3); !sobek.IsNull(body) && !sobek.IsUndefined(body) {
		data, ok := bytesOf(body)
		if !ok {
			panic(s.rt.NewTypeError("fetch: body: expected text, bytes or an object"))
		}
		r.body, r.hasBody = bytes.Clone(data), true
	}
	return s.promise(func(ctx context.Context) (func() (sobek.Value, error), error) {
		resp, err := s.fetch.do(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("fetch %s %s: %w", r.method, engine.OneLine(r.url, 300), err)
		}
		return func() (sobek.Value, error) { return s.answer(resp), nil }, nil
	})
}

// maxOpen is how many answers wait to be read. Each has a connection, of which a cell has few.
const maxOpen = 150

// keep notes an answer whose body nobody has read yet. Where there are too many the oldest is given up.
func (f *fetcher) keep(resp *response) {
	f.open = slices.DeleteFunc(f.open, func(r *response) bool { return r.over.Load() })
	if len(f.open) >= maxOpen {
		f.open[0].dropped.Store(true)
		f.open[0].close()
		f.open = f.open[1:]
	}
	f.open = append(f.open, resp)
}

func (r *response) close() {
	r.over.Store(true)
	_ = r.body.Close() // read only
}

// broken says why no more can be read.
func (r *response) broken(err error) error {
	if r.dropped.Load() {
		return fmt.Errorf("the answer was given up: its body was not read before %d others waited too", maxOpen)
	}
	return fmt.Errorf("the answer broke off: %w", err)
}

// answer is a response as the prelude wants it: what is known of it, and functions that read its body, once, or don't want it.
func (s *script) answer(resp *response) sobek.Value {
	s.fetch.keep(resp)
	var reading sync.Mutex
	read := func(take func() ([]byte, error)) func(sobek.FunctionCall) sobek.Value {
		return func(sobek.FunctionCall) sobek.Value {
			return s.promise(func(context.Context) (func() (sobek.Value, error), error) {
				reading.Lock()
				defer reading.Unlock()
				data, err := take()
				if errors.Is(err, io.EOF) {
					return func() (sobek.Value, error) { return sobek.Null(), nil }, nil
				}
				return func() (sobek.Value, error) { return s.rt.ToValue(s.rt.NewArrayBuffer(data)), nil }, err
			})
		}
	}
	return s.rt.ToValue(map[string]any{
		"status": resp.status, "statusText": resp.statusText, "url": resp.url, "redirected": resp.redirected, "headers": resp.headers,
		"all": read(resp.all), "piece": read(resp.piece), "cancel": resp.close,
	})
}

// all reads the whole body.
func (r *response) all() ([]byte, error) {
	defer r.close()
	data, err := io.ReadAll(io.LimitReader(r.body, maxBody+1))
	switch {
	case err != nil:
		return nil, r.broken(err)
	case len(data) > maxBody:
		return nil, fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	}
	return data, nil
}

// piece reads what has come of the body, and io.EOF at its end.
func (r *response) piece() ([]byte, error) {
	data := make([]byte, maxPiece)
	for {
		n, err := r.body.Read(data)
		switch {
		case n > 0:
			return data[:n], nil
		case errors.Is(err, io.EOF):
			r.close()
			return nil, io.EOF
		case err != nil:
			r.close()
			return nil, r.broken(err)
		}
	}
}
