package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// oneSecret grants every call the same secret.
type oneSecret string

func (s oneSecret) Grant(service.Ask) (service.Grant, error) { return s, nil }
func (oneSecret) Ports() []string                            { return nil }
func (oneSecret) Env(func(string) string, string) []string   { return nil }
func (s oneSecret) Lease(l *wall.Lease)                      { l.Secrets = map[string]string{"KEY": string(s)} }
func (oneSecret) Activate(context.Context, string)           {}
func (oneSecret) Serve(string, net.Conn)                     {}
func (oneSecret) Revoke()                                    {}

// keptSecret uses a secret for every call, and gives it to none.
type keptSecret string

func (s keptSecret) Grant(service.Ask) (service.Grant, error) { return s, nil }
func (keptSecret) Ports() []string                            { return nil }
func (keptSecret) Env(func(string) string, string) []string   { return nil }
func (keptSecret) Lease(*wall.Lease)                          {}
func (keptSecret) Activate(context.Context, string)           {}
func (keptSecret) Serve(string, net.Conn)                     {}
func (keptSecret) Revoke()                                    {}
func (s keptSecret) Kept() []string                           { return []string{string(s)} }

// A secret that stays outside is not told either, should a cell have put it together from what came back to it.
func TestAKeptSecretReachesNobody(t *testing.T) {
	const secret = "s3cr3t-0123456789"
	cell := program(func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
		say(`{"type":"skill/event","kind":"progress","data":{"pct":1,"message":"got %s"}}`, secret)
		say(`{"type":"skill/result","success":true,"data":"%s"}`, secret)
		return 0
	})
	b := setUp(t, well, func(c *Config) { c.Driver, c.Services = fake.New(cell), []service.Service{keptSecret(secret)} })
	answer, events := b.ask(t.Context(), req("free"))
	b.settle(t)
	all, err := json.Marshal([]any{answer, events})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(all, []byte(secret)) || bytes.Count(all, []byte("[redacted]")) < 2 {
		t.Errorf("the call said %s", all)
	}
}

// locked is a log that may be read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// What a skill says of its secrets reaches neither the caller nor the log: not in events, not in the result, not in the
// reason of a failure that holds the skill's last words, and not through a stderr that bypasses the runner.
func TestSecretsReachNobody(t *testing.T) {
	const secret = "s3cr3t-0123456789"
	for name, last := range map[string][]string{
		"success": {`{"type":"skill/result","success":true,"data":{"env":["%s"]},"summary":"%s"}`, `{"type":"cell/exit","exit_code":0,"oom_kills":0}`},
		"failure": {`{"type":"skill/result","success":false,"error":"no access with %s","error_code":"%s"}`, `{"type":"cell/exit","exit_code":1,"oom_kills":0}`},
		"crash":   {`{"type":"cell/exit","exit_code":1,"oom_kills":0,"stderr_tail":"bad key %s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var log locked
			handed := false
			cell := func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
				fmt.Fprintln(stderr, "the runner says", secret)
				in := &tee{r: stdin}
				code := program(func(_ context.Context, _ map[string]any, _ *bufio.Reader, say func(string, ...any)) int {
					handed = bytes.Contains(in.seen.Bytes(), []byte(secret))
					say(`{"type":"skill/event","kind":"progress","data":{"pct":1,"message":"using %s"}}`, secret)
					say("plain %s", secret)
					for _, line := range last {
						say(strings.ReplaceAll(line, "%s", secret))
					}
					return 1
				})(ctx, spec, in, stdout, stderr)
				return code
			}
			b := setUp(t, well, func(c *Config) {
				c.Driver, c.Services = fake.New(cell), []service.Service{oneSecret(secret)}
				c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			answer, events := b.ask(t.Context(), req("free"))
			b.settle(t)
			all, err := json.Marshal([]any{answer, events})
			if err != nil {
				t.Fatal(err)
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			if !bytes.Contains(log.b.Bytes(), []byte("the runner says [redacted]")) {
				t.Errorf("the log has no stderr:\n%s", &log.b)
			}
			if !handed || !bytes.Contains(all, []byte("[redacted]")) {
				t.Errorf("the cell had the secret: %v; the call said %s", handed, all)
			}
			if bytes.Contains(all, []byte(secret)) || bytes.Contains(log.b.Bytes(), []byte(secret)) {
				t.Errorf("the secret is told:\n%s\n%s", all, &log.b)
			}
		})
	}
}

// tee remembers what was read.
type tee struct {
	r    io.Reader
	seen bytes.Buffer
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.seen.Write(p[:n])
	return n, err
}
