package gate

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/internal/testutil"
)

// peer is a supervisor of a gate in this process.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	open *seal.Opener
	code chan int
}

// serve starts a gate that has read its hello, and returns when it is up.
func serve(t *testing.T, cfg Config, h seal.Hello) *peer {
	t.Helper()
	testutil.Require(t, "linux")
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h.Key = seal.NewKey()
	open, err := seal.NewOpener(h.Key)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Stdin, cfg.Stdout = inR, outW
	if cfg.Protect == nil {
		cfg.Protect = func() {}
	}
	p := &peer{t: t, in: inW, out: bufio.NewReaderSize(outR, 2*seal.MaxLine), open: open, code: make(chan int, 1)}
	go func() {
		p.code <- Serve(cfg)
		_ = outW.Close()
		_ = inR.Close()
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	if err := seal.WriteHello(inW, h); err != nil {
		t.Fatal(err)
	}
	p.expect(seal.Up)
	return p
}

func (p *peer) say(kind byte, payload string) {
	p.t.Helper()
	if _, err := p.in.Write(seal.AppendFrame(nil, kind, []byte(payload))); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next piece.
func (p *peer) hear() (byte, string) {
	p.t.Helper()
	line, err := p.out.ReadSlice('\n')
	if err != nil {
		p.t.Fatalf("read a line: %v", err)
	}
	kind, payload, err := p.open.Open(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		p.t.Fatal(err)
	}
	return kind, string(payload)
}

func (p *peer) expect(want byte) string {
	p.t.Helper()
	kind, payload := p.hear()
	if kind != want {
		p.t.Fatalf("heard %c %q, want %c", kind, payload, want)
	}
	return payload
}

// rest collects output until the end, and lets the gate go.
func (p *peer) rest() (stdout, stderr string, end seal.End) {
	p.t.Helper()
	for {
		kind, payload := p.hear()
		switch kind {
		case seal.Stdout:
			stdout += payload
		case seal.Stderr:
			stderr += payload
		case seal.Ended:
			if err := json.Unmarshal([]byte(payload), &end); err != nil {
				p.t.Fatal(err)
			}
			p.say(seal.Quit, "")
			return stdout, stderr, end
		default:
			p.t.Fatalf("heard %c %q", kind, payload)
		}
	}
}

func (p *peer) exits(want int) {
	p.t.Helper()
	select {
	case got := <-p.code:
		if got != want {
			p.t.Errorf("exit code %d, want %d", got, want)
		}
	case <-time.After(30 * time.Second):
		p.t.Fatal("the gate goes on")
	}
}

func sh(script string) seal.Hello {
	return seal.Hello{Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "A=b"}, Dir: "/"}
}

func TestProgram(t *testing.T) {
	p := serve(t, Config{}, sh(`cat; echo "$A $PWD"; echo err >&2; exit 3`))
	p.say(seal.Ping, "")
	p.expect(seal.Up)
	p.say(seal.Go, "")
	p.expect(seal.Started)
	p.say(seal.Data, "one ")
	p.say(seal.Data, "two\n")
	p.say(seal.EOF, "")
	out, errs, end := p.rest()
	if out != "one two\nb /\n" || errs != "err\n" || end.Code != 3 || end.Killed {
		t.Errorf("%q %q %+v", out, errs, end)
	}
	p.exits(3)
}

// What a program does not take at once comes to it in order, with what it would take behind it.
func TestStdinOfASlowReader(t *testing.T) {
	p := serve(t, Config{}, sh("read -r first; echo $first; sleep 0.3; cat"))
	p.say(seal.Go, "")
	p.expect(seal.Started)
	p.say(seal.Data, "first\n")
	if got := p.expect(seal.Stdout); got != "first\n" {
		t.Fatalf("%q", got)
	}
	var want strings.Builder
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range 40 {
			part := strings.Repeat(string(rune('a'+i%26)), 1+i%3*20_000)
			want.WriteString(part)
			p.say(seal.Data, part)
		}
		p.say(seal.EOF, "")
	}()
	got := ""
	for {
		kind, payload := p.hear()
		if kind == seal.Ended {
			break
		}
		got += payload
	}
	<-sent
	if got != want.String() {
		t.Errorf("%d bytes of %d, or in another order", len(got), want.Len())
	}
	p.say(seal.Quit, "")
	p.exits(0)
}

// Nothing runs before the supervisor says so, and nothing after it has gone.
func TestWaitsForGo(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	p := serve(t, Config{}, sh("touch "+mark))
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	p.exits(exitHangup)
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program ran: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		program string
		code    int
	}{{"/nowhere/program", 127}, {"no-such-program", 127}, {plain, 126}} {
		p := serve(t, Config{}, seal.Hello{Args: []string{tt.program}, Env: []string{"PATH=/bin"}})
		p.say(seal.Go, "")
		var f seal.Failure
		if err := json.Unmarshal([]byte(p.expect(seal.Failed)), &f); err != nil || f.Code != tt.code || f.Message == "" {
			t.Errorf("%s: %+v, %v", tt.program, f, err)
		}
		p.say(seal.Quit, "")
		p.exits(tt.code)
	}
}

func TestKill(t *testing.T) {
	p := serve(t, Config{}, sh("echo ready; exec sleep 1000"))
	p.say(seal.Go, "")
	p.expect(seal.Started)
	p.expect(seal.Stdout)
	p.say(seal.Kill, "")
	_, _, end := p.rest()
	if end.Code != 137 || !end.Killed {
		t.Errorf("%+v", end)
	}
	p.exits(137)
}

// A supervisor that is gone takes its program along.
func TestHangup(t *testing.T) {
	p := serve(t, Config{}, sh("echo $$; exec sleep 1000"))
	p.say(seal.Go, "")
	p.expect(seal.Started)
	pid := strings.TrimSpace(p.expect(seal.Stdout))
	_ = p.in.Close()
	testutil.Poll(t, 30*time.Second, func() bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, os.ErrNotExist)
	})
	_, _ = io.Copy(io.Discard, p.out)
	p.exits(ExitHangup)
}

// So does the runner, whatever it makes of that.
func TestHangupOfTheRunner(t *testing.T) {
	p := serve(t, Config{Runner: func(_, _ []string, stdin io.Reader, _ io.Writer) int {
		_, _ = io.Copy(io.Discard, stdin)
		return 0
	}}, seal.Hello{Runner: true, Args: []string{"x"}})
	p.say(seal.Go, "")
	p.expect(seal.Started)
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	p.exits(ExitHangup)
}

func TestLimits(t *testing.T) {
	var set []string
	cfg := Config{Limit: func(resource int, soft, hard uint64) error {
		set = append(set, fmt.Sprint(resource, soft, hard))
		return nil
	}}
	h := sh("exit 0")
	h.Limits = []seal.Limit{{Resource: 7, Soft: 1, Hard: 2}}
	p := serve(t, cfg, h)
	p.say(seal.Go, "")
	p.expect(seal.Started)
	p.rest()
	p.exits(0)
	if fmt.Sprint(set) != "[7 1 2]" {
		t.Errorf("set %q", set)
	}
	cfg.Limit = func(int, uint64, uint64) error { return errors.New("refused") }
	p = serve(t, cfg, h)
	p.say(seal.Go, "")
	if text := p.expect(seal.Failed); !strings.Contains(text, "cannot be set") {
		t.Errorf("%s", text)
	}
	p.say(seal.Quit, "")
	p.exits(126)
}

// The runner's own lines are sealed too, and it gets what it would have of its process.
func TestRunner(t *testing.T) {
	cfg := Config{Runner: func(args, env []string, stdin io.Reader, stdout io.Writer) int {
		line, _ := bufio.NewReader(stdin).ReadString('\n')
		fmt.Fprintf(stdout, "%v %v %s", args, env, line)
		return 0
	}}
	p := serve(t, cfg, seal.Hello{Runner: true, Args: []string{"-output=1"}, Env: []string{"X=1"}})
	p.say(seal.Go, "")
	p.expect(seal.Started)
	p.say(seal.Data, "request\n")
	out, _, end := p.rest()
	if out != "[-output=1] [X=1] request\n" || end.Code != 0 {
		t.Errorf("%q %+v", out, end)
	}
	p.exits(0)
}

func TestNoHello(t *testing.T) {
	var out bytes.Buffer
	code := Serve(Config{Stdin: strings.NewReader("hello\n"), Stdout: &out, Protect: func() { t.Error("went on") }})
	if code != exitUsage || out.Len() > 0 {
		t.Errorf("exit %d, said %q", code, out.String())
	}
}

func TestUnpackParts(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	tw := tar.NewWriter(zw)
	for _, h := range []tar.Header{{Name: "dir/", Typeflag: tar.TypeDir}, {Name: "dir/sub/file", Typeflag: tar.TypeReg, Mode: 0o700, Size: 4}} {
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = io.WriteString(tw, "text")
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	parts, target := t.TempDir(), t.TempDir()
	half := packed.Len() / 2
	for name, data := range map[string][]byte{"0000": packed.Bytes()[:half], "0001": packed.Bytes()[half:], "..data": []byte("x")} {
		if err := os.WriteFile(filepath.Join(parts, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	if code := Unpack([]string{FromParts + "=" + parts + "=" + target, FromSelf + "==" + target}, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	file := filepath.Join(target, "dir/sub/file")
	data, err := os.ReadFile(file)
	info, serr := os.Stat(file)
	if err != nil || serr != nil || string(data) != "text" || info.Mode().Perm() != 0o755 {
		t.Errorf("%q %v %v %v", data, info.Mode(), err, serr)
	}
	if info, err := os.Stat(filepath.Join(target, "runner")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program itself: %v", err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	var evil bytes.Buffer
	zw := gzip.NewWriter(&evil)
	tw := tar.NewWriter(zw)
	_ = tw.WriteHeader(&tar.Header{Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o600})
	_, _ = tw.Close(), zw.Close()
	parts := t.TempDir()
	if err := os.WriteFile(filepath.Join(parts, "0000"), evil.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for job, want := range map[string]string{
		FromParts + "=" + parts + "=" + t.TempDir():       "escapes",
		FromParts + "=" + t.TempDir() + "=" + t.TempDir(): "the 0 parts",
		FromImage + "=engine-0=" + t.TempDir():            "it is of another hotcell",
		"other=a=b":                                       "unknown kind",
		"x":                                               "expected KIND=SOURCE=FOLDER",
	} {
		var errs bytes.Buffer
		if code := Unpack([]string{job}, &errs); code != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %q", job, code, errs.String())
		}
	}
}
