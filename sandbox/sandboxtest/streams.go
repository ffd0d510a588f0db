package sandboxtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

func (s *suite) capabilities() {
	caps, err := s.driver.Capabilities(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if s.driver.Name() == "" || caps.Engine == "" || caps.OS == "" || caps.Arch == "" || caps.CPUs <= 0 || caps.Memory <= 0 {
		s.Errorf("driver %q has incomplete capabilities %+v", s.driver.Name(), caps)
	}
}

// earlyOutput: what a process writes before it exits at once is all there, with the readers coming late.
func (s *suite) earlyOutput() {
	for range 5 {
		cell := s.start("print", "hello")
		exit := s.wait(cell)
		out := s.read(cell)
		s.equal("stdout", out.stdout, "hello\n")
		s.equal("stderr", out.stderr, "")
		if out.stdoutErr != nil || exit.Code != 0 {
			s.Errorf("end %v, exit %+v", out.stdoutErr, exit)
		}
	}
}

// interrupted: a reader that waits can be called off, where the streams can do that, and the next one misses nothing.
func (s *suite) interrupted() {
	cell := s.start("cat")
	stdio := cell.Stdio()
	stream, can := stdio.Stdout.(sandbox.Interruptible)
	if !can {
		s.Skip("this driver's streams cannot be interrupted")
	}
	got := make(chan error, 1)
	go func() {
		_, err := stdio.Stdout.Read(make([]byte, 1))
		got <- err
	}()
	select {
	case err := <-got:
		s.Fatalf("read of a cell that says nothing: %v", err)
	case <-time.After(50 * time.Millisecond): // it waits by now, or is called off before it does
	}
	stream.Interrupt(true)
	if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
		s.Errorf("the reader that was called off got %v", err)
	}
	stream.Interrupt(false)
	if _, err := io.WriteString(stdio.Stdin, "one\n"); err != nil {
		s.Fatal(err)
	}
	if err := stdio.Stdin.Close(); err != nil {
		s.Fatal(err)
	}
	s.equal("stdout", s.read(cell).stdout, "one\n")
}

// diverted: what a cell says meanwhile goes elsewhere, where the streams can do that, and what it says later to the reader; the end of
// one that ends meanwhile is told.
func (s *suite) diverted() {
	cell := s.start("cat")
	stdio := cell.Stdio()
	stream, can := stdio.Stdout.(sandbox.Divertible)
	if !can {
		s.Skip("this driver's streams cannot be diverted")
	}
	heard, ended := make(chan string, 64), make(chan struct{})
	stream.Divert(func(p []byte) { heard <- string(p) }, func() { close(ended) })
	say := func(line string) {
		if _, err := io.WriteString(stdio.Stdin, line); err != nil {
			s.Fatal(err)
		}
	}
	say("one\n")
	said := ""
	for said != "one\n" && strings.HasPrefix("one\n", said) {
		select {
		case part := <-heard:
			said += part
		case <-s.ctx.Done():
			s.Fatalf("heard %q", said)
		}
	}
	s.equal("what was diverted", said, "one\n")
	if !stream.Restore([]byte("first\n")) {
		s.Fatal("the stream of a cell that runs has ended")
	}
	say("two\n")
	if err := stdio.Stdin.Close(); err != nil {
		s.Fatal(err)
	}
	s.equal("stdout", s.read(cell).stdout, "first\ntwo\n")
	select {
	case <-ended:
		s.Errorf("the end of a stream was told to who had diverted it before")
	default:
	}

	cell = s.start("print", "hello")
	if stream, can = cell.Stdio().Stdout.(sandbox.Divertible); !can {
		s.Fatal("no other cell's stdout can be diverted")
	}
	stream.Divert(func([]byte) {}, func() { close(ended) })
	select {
	case <-ended:
	case <-s.ctx.Done():
		s.Fatal("the end of a stream was not told")
	}
	if stream.Restore(nil) {
		s.Errorf("a stream that had ended was restored")
	}
	s.wait(cell)
}

// stdinEOF: closing stdin ends the process's input and leaves its output open.
func (s *suite) stdinEOF() {
	cell := s.start("cat")
	stdio := cell.Stdio()
	if _, err := io.WriteString(stdio.Stdin, "one\n"); err != nil {
		s.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(stdio.Stdout, first); err != nil {
		s.Fatalf("echo of the first line: %v", err)
	}
	if _, err := io.WriteString(stdio.Stdin, "two\n"); err != nil {
		s.Fatal(err)
	}
	if err := stdio.Stdin.Close(); err != nil {
		s.Fatal(err)
	}
	out := s.read(cell)
	s.equal("stdout", string(first)+out.stdout, "one\ntwo\n")
	s.equal("stderr", out.stderr, "eof\n")
	if out.stdoutErr != nil || out.stderrErr != nil {
		s.Errorf("streams ended with %v, %v", out.stdoutErr, out.stderrErr)
	}
	if exit := s.wait(cell); exit.Code != 0 {
		s.Errorf("exit %+v", exit)
	}
	if _, err := stdio.Stdin.Write([]byte("late")); err == nil {
		s.Errorf("stdin took bytes after Close")
	}
	if err := stdio.Stdin.Close(); err != nil {
		s.Errorf("second close of stdin: %v", err)
	}
}

func (s *suite) stdinClosedBeforeStart() {
	cell := s.create(s.o.Spec(s.T, "cat"))
	if err := cell.Stdio().Stdin.Close(); err != nil {
		s.Fatal(err)
	}
	if err := cell.Start(s.ctx); err != nil {
		s.Fatal(err)
	}
	out := s.read(cell)
	s.equal("stderr", out.stderr, "eof\n")
	s.wait(cell)
}

func (s *suite) twoStreams() {
	out, _ := s.run(s.o.Spec(s.T, "both", "100"))
	var stdout, stderr strings.Builder
	for i := range 100 {
		fmt.Fprintf(&stdout, "out %d\n", i)
		fmt.Fprintf(&stderr, "err %d\n", i)
	}
	s.equal("stdout", out.stdout, stdout.String())
	s.equal("stderr", out.stderr, stderr.String())
}

func (s *suite) largeOutput() {
	const size = 4 << 20
	out, exit := s.run(s.o.Spec(s.T, "flood", fmt.Sprint(size)))
	if len(out.stdout) != size || exit.Code != 0 {
		s.Errorf("got %d bytes of %d, exit %+v", len(out.stdout), size, exit)
	}
	s.equal("hash", strings.TrimSpace(out.stderr), fmt.Sprintf("%x", sha256.Sum256([]byte(out.stdout))))
}

// cutOutput: a stream that broke off does not look like one that ended.
func (s *suite) cutOutput() {
	if s.o.Cut == nil {
		s.Skip("the driver has no way to cut a stream")
	}
	s.driver = s.open(s.o.Cut)
	cell := s.start("flood", fmt.Sprint(1<<20))
	out := s.read(cell)
	if out.stdoutErr != io.ErrUnexpectedEOF {
		s.Errorf("stdout ended after %d bytes with %v, want %v", len(out.stdout), out.stdoutErr, io.ErrUnexpectedEOF)
	}
	if len(out.stdout) >= 1<<20 {
		s.Errorf("nothing was cut")
	}
}

// environment: the cell has the spec's variables and no other.
func (s *suite) environment() {
	spec := s.o.Spec(s.T, "env")
	spec.Image.Env = append(spec.Image.Env, "PATH=/elsewhere", "FROM_IMAGE=1")
	spec.OCI.Process.Env = append(spec.OCI.Process.Env, "EMPTY=", "EQUALS=a=b", "SPACES=a b")
	want := slices.Sorted(slices.Values(spec.OCI.Process.Env))
	out, _ := s.run(spec)
	s.equal("environment", out.stdout, strings.Join(want, "\n")+"\n")
}

// trees: content is exact, in the cell's reach, and nothing in the cell can change it.
func (s *suite) trees() {
	content := map[string][]byte{
		"main.txt":      []byte("content\n"),
		"sub/deep/file": bytes.Repeat([]byte("0123456789abcdef"), 8<<10),
		"empty":         {},
	}
	for path, want := range content {
		spec := WithTree(s.o.Spec(s.T, "read", "/skill/"+path), tree(content))
		out, exit := s.run(spec)
		if out.stdout != string(want) || exit.Code != 0 {
			s.Errorf("%s: got %d bytes of %d, exit %+v, %s", path, len(out.stdout), len(want), exit, out.stderr)
		}
	}
	for _, path := range []string{"/skill/main.txt", "/skill/new", "/skill/sub/new"} {
		out, _ := s.run(WithTree(s.o.Spec(s.T, "write", path), tree(content)))
		s.equal("write "+path, out.stdout, "refused\n")
	}
}
