package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dial connects to the server and shakes hands.
func (s *server) dial() (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeoutCause(s.base, connectTimeout, fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "hotcell", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // it offers nothing: no roots, no sampling, no elicitation
		Logger:       slog.New(slog.DiscardHandler),
		ToolListChangedHandler: func(_ context.Context, req *mcp.ToolListChangedRequest) {
			s.relist(req.Session)
		},
	})
	var session *mcp.ClientSession
	var err error
	if s.cfg.URL != "" {
		session, err = s.dialURL(ctx, client)
	} else {
		session, err = s.dialCommand(ctx, client)
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return session, err
}

// dialCommand starts the server's program. Its environment is its own: nothing of hotcell's is in it but where programs
// and its home are.
func (s *server) dialCommand(ctx context.Context, client *mcp.Client) (*mcp.ClientSession, error) {
	if len(s.cfg.Command) == 0 {
		return nil, errors.New("it has neither a command nor a url")
	}
	own, err := s.values(s.cfg.Env)
	if err != nil {
		return nil, err
	}
	s.keepFrom(own)
	cmd := exec.Command(s.cfg.Command[0], s.cfg.Command[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is hotcell's to hear, which ends its servers in order
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"}
	for name, value := range own {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = &logWriter{log: s.log, hide: s.hide}
	cmd.WaitDelay = time.Second // what the program started may keep its stderr
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
	if err != nil && cmd.Process != nil { // the transport may have left it alone
		endGroup(cmd)
		_, _ = cmd.Process.Wait() // and not cmd.Wait: the transport may be in it
	}
	if err == nil {
		s.tasks.Go(func() {
			_ = session.Wait() // the program itself has ended then
			endGroup(cmd)
		})
	}
	return session, scrub(err, s.cfg.Command, own)
}

// endGroup ends what is left of a program and of all that it started.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// dialURL connects to an endpoint.
func (s *server) dialURL(ctx context.Context, client *mcp.Client) (*mcp.ClientSession, error) {
	own, err := s.values(s.cfg.Headers)
	if err != nil {
		return nil, err
	}
	s.keepFrom(own)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	httpClient := &http.Client{
		Transport: &headers{next: transport, own: own},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return errors.New("it redirects to somewhere else")
			}
			return nil
		},
	}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: httpClient, MaxRetries: 1}, nil)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, scrub(err, []string{s.cfg.URL}, own)
	}
	s.tasks.Go(func() {
		_ = session.Wait()
		transport.CloseIdleConnections()
	})
	return session, nil
}

// values resolves references. Its error names the entry and not the value.
func (s *server) values(refs map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(refs))
	for name, ref := range refs {
		value, err := s.resolve(ref)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// scrub takes what the configuration says, which may be secret, out of an error.
func scrub(err error, words []string, values map[string]string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, value := range append(slices.Collect(maps.Values(values)), words...) {
		if len(value) >= 4 {
			text = strings.ReplaceAll(text, value, "...")
		}
	}
	return errors.New(cut(text, maxError))
}

// headers adds headers to every request, and bounds what comes back.
type headers struct {
	next http.RoundTripper
	own  map[string]string
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range h.own {
		req.Header.Set(name, value)
	}
	resp, err := h.next.RoundTrip(req)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limitedBody{Reader: io.LimitReader(resp.Body, maxAnswer), Closer: resp.Body} // events are bounded one by one
	}
	return resp, err
}

// maxAnswer bounds an answer over HTTP; what is longer is cut, and does not parse.
const maxAnswer = 16 << 20

type limitedBody struct {
	io.Reader
	io.Closer
}

// logWriter logs what a server's program says on stderr, a line at a time, as far as it is short.
type logWriter struct {
	log  *slog.Logger
	hide func(string) string
	line []byte
}

// maxLogLine bounds what is kept of one line.
const maxLogLine = 1000

// Write implements [io.Writer]. One goroutine alone calls it.
func (w *logWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		w.line = append(w.line, line[:min(len(line), maxLogLine-min(len(w.line), maxLogLine))]...)
		if ended {
			w.log.Debug("MCP server says", "text", w.hide(string(w.line)))
			w.line = w.line[:0]
		}
		rest = after
	}
	return len(p), nil
}
