package docker

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/hotcell/hotcell/internal/outflow"
)

func TestDemux(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, tt := range map[string]struct {
		in             string
		stdout, stderr string
		err            error
	}{
		"nothing":       {},
		"both":          {in: frame(1, "a") + frame(2, "b") + frame(1, "c"), stdout: "ac", stderr: "b"},
		"empty frame":   {in: frame(1, "") + frame(1, "a"), stdout: "a"},
		"long frame":    {in: frame(1, long) + frame(2, long), stdout: long, stderr: long},
		"short header":  {in: frame(1, "a") + "\x01", stdout: "a", err: io.ErrUnexpectedEOF},
		"no payload":    {in: frame(1, "abc")[:8], err: io.ErrUnexpectedEOF},
		"half payload":  {in: frame(1, "abc")[:10], stdout: "ab", err: io.ErrUnexpectedEOF},
		"too long":      {in: frame(1, "a") + "\x01\x00\x00\x00\x00\x10\x00\x01", stdout: "a", err: errFrame},
		"plain text":    {in: "HTTP/1.1 500 Internal Server Error", err: errFrame},
		"stream 4":      {in: frame(4, "a"), err: errFrame},
		"engine's text": {in: frame(1, "a") + frame(3, "no\nmore"), stdout: "a", err: errors.New("engine ended the stream: no more")},
	} {
		for style, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.in), "bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
			"halves": iotest.HalfReader(strings.NewReader(tt.in)), "eof with data": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			var stdout, stderr bytes.Buffer
			err := demux(r, &stdout, &stderr)
			if stdout.String() != tt.stdout || stderr.String() != tt.stderr {
				t.Errorf("%s, %s: got %.40q, %.40q", name, style, stdout.String(), stderr.String())
			}
			if !errors.Is(err, tt.err) && (err == nil || tt.err == nil || err.Error() != tt.err.Error()) {
				t.Errorf("%s, %s: error %v, want %v", name, style, err, tt.err)
			}
		}
	}
}

func TestDemuxSinkFails(t *testing.T) {
	broken := errors.New("broken")
	if err := demux(strings.NewReader(frame(1, "abc")), writer(func([]byte) (int, error) { return 0, broken }), io.Discard); err != broken {
		t.Errorf("got %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// A stream whose reader has closed it holds up nothing, and an unread one only until then.
func TestBufferClosedByReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := outflow.New(), outflow.New()
		in := strings.Repeat(frame(2, strings.Repeat("e", 100_000)), 10) + frame(1, "result")
		go func() {
			if err := demux(strings.NewReader(in), stdout, stderr); err != nil {
				t.Error(err)
			}
			stdout.Finish(io.EOF)
			stderr.Finish(io.EOF)
		}()
		var out bytes.Buffer
		var err error
		go func() { _, err = io.Copy(&out, stdout) }()
		synctest.Wait()
		if out.Len() != 0 {
			t.Error("stdout went past a full stderr")
		}
		_ = stderr.Close()
		synctest.Wait()
		if out.String() != "result" || err != nil {
			t.Errorf("stdout %q, %v", &out, err)
		}
		if _, err := stderr.Read(make([]byte, 1)); err != io.ErrClosedPipe {
			t.Errorf("read after close: %v", err)
		}
	})
}

// FuzzDemux checks against the obvious way to read frames, and that nothing is held in memory that did not come in.
func FuzzDemux(f *testing.F) {
	f.Add([]byte(frame(1, "a") + frame(2, "b")))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Add([]byte(frame(1, "abc")[:9]))
	f.Add([]byte(frame(3, "x")))
	f.Fuzz(func(t *testing.T, in []byte) {
		var stdout, stderr bytes.Buffer
		err := demux(bytes.NewReader(in), &stdout, &stderr)
		var want [2]bytes.Buffer
		rest, orderly := in, true
		for len(rest) > 0 {
			if len(rest) < 8 || rest[0] > 2 || rest[1]|rest[2]|rest[3]|rest[4] != 0 {
				orderly = false
				break
			}
			n := int(rest[5])<<16 | int(rest[6])<<8 | int(rest[7])
			if n > maxFrame {
				orderly = false
				break
			}
			sink := &want[0]
			if rest[0] == 2 {
				sink = &want[1]
			}
			have := min(n, len(rest)-8)
			sink.Write(rest[8 : 8+have])
			rest = rest[8+have:]
			if have < n {
				orderly = false
				break
			}
		}
		if (err == nil) != orderly {
			t.Errorf("error %v, orderly %v", err, orderly)
		}
		if !bytes.Equal(stdout.Bytes(), want[0].Bytes()) || !bytes.Equal(stderr.Bytes(), want[1].Bytes()) {
			t.Errorf("got %q, %q, want %q, %q", stdout.Bytes(), stderr.Bytes(), want[0].Bytes(), want[1].Bytes())
		}
	})
}
