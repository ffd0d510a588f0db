package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	supervisors "github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
)

// tellerSkill says its text three times and returns it.
const tellerSkill = `import json, sys, time
args = json.loads(sys.stdin.readline())["arguments"]
for _ in range(3):
    print(json.dumps({"type": "skill/event", "kind": "status", "data": {"message": args["text"]}}), flush=True)
time.sleep(args.pop("seconds", 0))
print(json.dumps({"type": "skill/result", "success": True, "data": args}))
`

// The examples of the document get the same answers through the daemon's two doors as on stdin and stdout.
func TestTheDocumentsWireExamplesThroughTheDaemon(t *testing.T) {
	d := serve(t, binary(t))
	t.Run("socket", func(t *testing.T) {
		conn, err := net.Dial("unix", d.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, wireExamples); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		checkExamples(t, untilAnswered(t, bufio.NewScanner(conn)))
	})
	t.Run("http", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		ask := func(method, path, session, body string) *http.Response {
			req, err := http.NewRequestWithContext(ctx, method, d.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if session != "" {
				req.Header.Set("X-Session-Id", session)
				req.Header.Set("Content-Type", "text/plain")
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s %s: %s", method, path, resp.Status)
			}
			return resp
		}
		opened := ask("POST", "/session", "", "")
		text, _ := io.ReadAll(opened.Body)
		_ = opened.Body.Close()
		session := strings.Split(string(text), `"`)[3]
		stream := ask("GET", "/stream", session, "")
		defer stream.Body.Close()
		for line := range strings.Lines(wireExamples) {
			_ = ask("POST", "/send", session, line).Body.Close()
		}
		data := strings.ReplaceAll(untilAnswered(t, bufio.NewScanner(stream.Body)), "\n\n", "\n")
		checkExamples(t, strings.ReplaceAll("\n"+data, "\ndata: ", "\n")[1:])
	})
}

// untilAnswered returns what was said until the call's answer and the skills were there.
func untilAnswered(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	lines.Buffer(nil, 1<<20)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if all := said.String(); strings.Contains(all, "skill/call/resp") && strings.Contains(all, "skill/discover/resp") {
			return all
		}
	}
	t.Fatalf("no answer: %v: %s", lines.Err(), said.String())
	return ""
}

// A client as upstream's Python SDK has it, on a network that loses answers and streams.
func TestAPythonClientOverHTTP(t *testing.T) {
	testutil.Require(t, "python3")
	d := serve(t, binary(t), "HOTCELL_SKILLS="+skillFolder(t, map[string]string{"teller": tellerSkill}))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "python3", "testdata/a2e_client.py", d.URL).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "fine: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// onStdio is a running `hotcell stdio` with a call in flight that would never end by itself.
type onStdio struct {
	cmd    *exec.Cmd
	in     *os.File // of ours
	stderr strings.Builder
	dir    string
	id     string // of its instance
	exited chan error
}

// startOnStdio starts it, under a shell that waits for it or by itself.
func startOnStdio(t *testing.T, bin string, shell bool) *onStdio {
	t.Helper()
	return startHost(t, bin, "stdio", nap("n1", "500"), shell)
}

// startHost starts a host of another protocol the same way. What is said begins the call.
func startHost(t *testing.T, bin, command, said string, shell bool) *onStdio {
	t.Helper()
	s := &onStdio{dir: t.TempDir(), exited: make(chan error, 1)}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	s.cmd = exec.Command(bin, command, "--data-dir", filepath.Join(s.dir, "data"))
	if shell {
		s.cmd = exec.Command("sh", "-c", `"$0" "$@"; exit 7`, bin, command, "--data-dir", filepath.Join(s.dir, "data"))
	}
	s.cmd.Dir = s.dir
	s.cmd.Env = append(os.Environ(), "HOTCELL__POOL__MAX=0", "HOTCELL_SKILLS="+skillFolder(t, map[string]string{"nap": napSkill}))
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, theirOut, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), theirOut.Close()
	go func() { s.exited <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_, _ = s.in.Close(), out.Close()
	})
	if _, err := fmt.Fprintln(s.in, said); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, time.Minute, func() bool {
		all, _ := supervisors.List(filepath.Join(s.dir, "data", "instances"))
		if len(all) == 1 {
			s.id = all[0].Instance
		}
		return s.id != "" && count(owned(s.id), "cell running") == 1
	})
	return s
}

// gone waits until it has ended, and returns how.
func (s *onStdio) gone(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.exited:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("it goes on: %s", s.stderr.String())
		return nil
	}
}

// Upstream's client starts its host with a pipe for stderr and never reads it: that must hold up nothing.
func TestStdioWithALogThatNobodyReads(t *testing.T) {
	s := exec.Command(binary(t), "stdio", "--data-dir", filepath.Join(t.TempDir(), "data"))
	logs, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	s.Stderr = theirs
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	late := time.AfterFunc(2*time.Minute, func() { _ = s.Process.Kill() })
	defer late.Stop()
	const calls = 1500 // whose log is more than a pipe holds
	go func() {
		defer in.Close()
		for n := range calls {
			if _, err := fmt.Fprintf(in, `{"type":"skill/call/req","id":"c%d","name":"nobody"}`+"\n", n); err != nil {
				return
			}
		}
	}()
	answers := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "unknown_skill") {
			answers++
		}
	}
	if err := s.Wait(); err != nil || answers != calls {
		t.Errorf("%d answers, %v", answers, err)
	}
}

// A client that stops closes stdin, waits, sends SIGTERM, waits, and sends SIGKILL: nothing is left of the call at the end.
func TestStdioEndsWithItsClient(t *testing.T) {
	bin := binary(t)
	t.Run("the end of stdin and SIGTERM", func(t *testing.T) {
		s := startOnStdio(t, bin, false)
		_ = s.in.Close()
		select {
		case err := <-s.exited:
			t.Fatalf("it did not wait for its call: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		asked := time.Now()
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.gone(t); err != nil {
			t.Errorf("it ended with %v: %s", err, s.stderr.String())
		}
		if took := time.Since(asked); took > patience(2*time.Second) {
			t.Errorf("it ended %v after SIGTERM", took)
		}
		if left := owned(s.id); count(left, "cell running")+count(left, "cell exited")+count(left, "cell created") != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("SIGKILL", func(t *testing.T) {
		s := startOnStdio(t, bin, false)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.gone(t)
		testutil.Poll(t, patience(2*time.Second), func() bool { return count(owned(s.id), "cell running") == 0 })
		serveIn(t, s.dir, bin) // the next one removes what is left
		testutil.Poll(t, time.Minute, func() bool {
			left := owned(s.id)
			return count(left, "cell running")+count(left, "cell exited")+count(left, "cell created") == 0
		})
	})
	t.Run("the client is gone and its pipes are not", func(t *testing.T) {
		s := startOnStdio(t, bin, true)
		if err := s.cmd.Process.Kill(); err != nil { // the shell alone
			t.Fatal(err)
		}
		testutil.Poll(t, time.Minute, func() bool { return len(owned(s.id)) == 0 || count(owned(s.id), "cell running") == 0 })
		var exit *exec.ExitError
		if err := s.gone(t); !errors.As(err, &exit) { // once both have closed stderr
			t.Errorf("the shell ended with %v", err)
		}
		if !strings.Contains(s.stderr.String(), "the process that started this one has ended") {
			t.Errorf("stderr: %s", s.stderr.String())
		}
		if left := owned(s.id); count(left, "cell running")+count(left, "cell exited")+count(left, "cell created") != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}
