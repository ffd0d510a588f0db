package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/wall"
)

// envBe makes the test binary be a protected runner; envPort gives it a port, envPrestart has it start its command ahead.
const (
	envBe       = "HOTCELL_TEST_BE_RUNNER"
	envPort     = "HOTCELL_TEST_PORT"
	envPrestart = "HOTCELL_TEST_PRESTART"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(envBe); root != "" {
		Protect()
		var ports []wall.Port
		if n, err := strconv.Atoi(os.Getenv(envPort)); err == nil {
			ports = append(ports, wall.Port{Name: portGranted, Number: n})
		}
		os.Exit(Run(context.Background(), Config{
			Args: wall.Args{Command: os.Args[1:], Output: wall.MaxLong, Out: 1 << 20, Ports: ports, Prestart: os.Getenv(envPrestart) != ""}, Env: os.Environ(),
			Stdin: Stdin(), Stdout: os.Stdout, Root: root,
		}))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds each wait of a test that ought to be short.
const patience = 20 * time.Second

// said is any line of a runner.
type said struct {
	Type     string          `json:"type"`
	Kind     string          `json:"kind"`
	Data     json.RawMessage `json:"data"`
	Protocol int             `json:"protocol"`
	raw      string
}

func (s said) log(t testing.TB) (level, message string) {
	t.Helper()
	var d logData
	if err := json.Unmarshal(s.Data, &d); err != nil {
		t.Fatalf("%s: %v", s.raw, err)
	}
	return d.Level, d.Message
}

// cell is a runner that lives in this process, in directories of its own.
type cell struct {
	t      testing.TB
	root   string
	stdin  *os.File
	stdout *os.File
	say    *wall.Writer // to stdin
	host   *wall.Tunnel // takes the tunnel's lines where ports are asked for
	lines  chan said
	code   chan int
}

// boot starts a runner for a shell script.
func boot(t testing.TB, script string, change ...func(*Config)) *cell {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{wall.DirWorkspace, wall.DirOut, wall.DirRun} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	cfg := Config{
		Args: wall.Args{Command: []string{"sh", "-c", script}, Output: 1 << 20, Out: 1 << 20},
		Env:  append(os.Environ(), "ROOT="+root), Stdin: inR, Stdout: outW, Root: root,
	}
	for _, f := range change {
		f(&cfg)
	}
	c := &cell{t: t, root: root, stdin: inW, stdout: outR, lines: make(chan said, 100_000), code: make(chan int, 1)}
	c.say = wall.NewWriter(inW)
	c.host = wall.NewTunnel(c.say, wall.TunnelOptions{Ports: []string{portGranted}})
	go func() {
		c.code <- Run(context.Background(), cfg)
		outW.Close()
	}()
	go func() {
		defer close(c.lines)
		s := bufio.NewScanner(outR)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			l := said{raw: s.Text()}
			if err := json.Unmarshal(s.Bytes(), &l); err != nil {
				l.Type = "not JSON: " + err.Error()
			}
			switch l.Type {
			case wall.TypeOpen, wall.TypeData, wall.TypeCredit, wall.TypeClose:
				var told *wall.ClosedError
				if err := c.host.Handle(l.Type, s.Bytes()); err != nil && !errors.As(err, &told) {
					t.Errorf("the runner broke the tunnel: %v", err)
				}
				continue
			}
			c.lines <- l
		}
	}()
	t.Cleanup(func() {
		c.host.Close(nil)
		inW.Close()
		for range c.lines {
		}
		c.host.Wait()
		inR.Close()
		outR.Close()
	})
	return c
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// send writes lines to the runner.
func (c *cell) send(lines ...any) {
	c.t.Helper()
	for _, l := range lines {
		if s, ok := l.(string); ok {
			l = json.RawMessage(s)
		}
		if err := c.say.Encode(l); err != nil {
			c.t.Fatal(err)
		}
	}
}

// next returns the next line, and fails when the stream ends.
func (c *cell) next() said {
	c.t.Helper()
	select {
	case l, ok := <-c.lines:
		if !ok {
			c.t.Fatal("stdout ended")
		}
		return l
	case <-time.After(patience):
		c.t.Fatal("no line came")
	}
	return said{}
}

// until returns all lines up to one of a type, which is the last.
func (c *cell) until(kind string) []said {
	c.t.Helper()
	var all []said
	for {
		l := c.next()
		if all = append(all, l); l.Type == kind {
			return all
		}
	}
}

// logged waits for a log event with a text in it.
func (c *cell) logged(text string) {
	c.t.Helper()
	for {
		if l := c.next(); l.Kind == "log" && strings.Contains(string(l.Data), text) {
			return
		}
	}
}

// exits waits for the runner's end.
func (c *cell) exits(want int) {
	c.t.Helper()
	select {
	case got := <-c.code:
		if got != want {
			c.t.Errorf("the runner's exit code = %d, want %d", got, want)
		}
	case <-time.After(patience):
		c.t.Fatal("the runner did not end")
	}
}

const request = `{"type":"skill/call/req","id":"1","name":"x","arguments":{}}`

// outcome is a whole life.
type outcome struct {
	lines  []said // without the ready and the exit line
	result *wall.Result
	exit   wall.Exit
}

// play lives a whole life: the request, all lines, done.
func (c *cell) play(before ...any) outcome {
	c.t.Helper()
	if l := c.next(); l.Type != wall.TypeReady || l.Protocol != wall.Protocol {
		c.t.Fatalf("first line %s", l.raw)
	}
	c.send(before...)
	c.send(request)
	return c.finish()
}

// finish reads to the exit line and lets the runner go.
func (c *cell) finish() outcome {
	c.t.Helper()
	lines := c.until(wall.TypeExit)
	var o outcome
	var err error
	if o.exit, err = wall.DecodeExit([]byte(lines[len(lines)-1].raw)); err != nil {
		c.t.Fatal(err)
	}
	o.lines = lines[:len(lines)-1]
	for _, l := range o.lines {
		switch l.Type {
		case wall.TypeResult:
			if o.result != nil {
				c.t.Fatalf("a second result %s", l.raw)
			}
			r, err := wall.DecodeResult([]byte(l.raw))
			if err != nil {
				c.t.Fatal(err)
			}
			o.result = &r
		case wall.TypeEvent:
			if _, err := wall.DecodeEvent([]byte(l.raw)); err != nil {
				c.t.Fatal(err)
			}
		default:
			c.t.Fatalf("unexpected line %s", l.raw)
		}
		if len(l.raw) > wall.MaxLine && l.Type != wall.TypeResult {
			c.t.Fatalf("a line of %d bytes", len(l.raw))
		}
	}
	c.send(wall.Control{Type: wall.TypeDone})
	c.exits(exitComplete)
	return o
}

// logs returns the log events as "level: message".
func (o outcome) logs(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, l := range o.lines {
		if l.Kind == "log" {
			level, message := l.log(t)
			all = append(all, level+": "+message)
		}
	}
	return all
}

func (o outcome) hasLog(t testing.TB, part string) bool {
	t.Helper()
	return slices.ContainsFunc(o.logs(t), func(s string) bool { return strings.Contains(s, part) })
}
