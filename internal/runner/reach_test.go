package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

// listening starts a listener on a free port, and returns its address.
func listening(t *testing.T, word string) (addr string) {
	t.Helper()
	stdin, hold := io.Pipe()
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Listen([]string{"0", word}, stdin, w, io.Discard)
		_ = w.Close()
	}()
	t.Cleanup(func() {
		_ = hold.Close()
		if c := <-code; c != 0 {
			t.Errorf("exit %d", c)
		}
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strings.TrimSpace(strings.TrimPrefix(line, "listening on port "))
}

// reach runs the dialler for so many milliseconds.
func reach(t *testing.T, args ...string) wall.Reach {
	t.Helper()
	var out, errs bytes.Buffer
	if code := TryReach(args, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var found wall.Reach
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReach(t *testing.T) {
	addr := listening(t, "the-word")
	found := reach(t, "500", "the-word", "tcp/"+addr, "udp/"+addr, "open/"+addr, "open/127.0.0.1:1", "odd/"+addr, "tcp/[::1]:1")
	for target, open := range map[string]bool{"tcp/" + addr: true, "udp/" + addr: true, "open/" + addr: true, "open/127.0.0.1:1": false, "odd/" + addr: false, "tcp/[::1]:1": false} {
		r := found[target]
		if r.Open != open || r.Tries == 0 || open != (r.Got == r.Tries) || open != (r.First >= 0) || open != (r.Why == "") || r.Last < r.First {
			t.Errorf("%s: %+v", target, r)
		}
	}
}

// Who answers with another word is somebody else.
func TestReachOfSomebodyElse(t *testing.T) {
	addr := listening(t, "another1")
	for target, r := range reach(t, "1", "the-word", "tcp/"+addr, "udp/"+addr) {
		if r.Got != 0 || r.Open || r.Tries != 1 || !strings.Contains(r.Why, "somebody else") {
			t.Errorf("%s: %+v", target, r)
		}
	}
}

func TestReachArguments(t *testing.T) {
	var errs bytes.Buffer
	for _, args := range [][]string{nil, {"1", "w"}, {"x", "w", "tcp/a:1"}, {"0", "w", "tcp/a:1"}, {"1", strings.Repeat("w", 200), "tcp/a:1"}} {
		if code := TryReach(args, io.Discard, &errs); code != 64 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	for _, args := range [][]string{nil, {"1"}, {"0", strings.Repeat("w", 200)}} {
		if code := Listen(args, strings.NewReader(""), io.Discard, &errs); code != 64 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	if code := Listen([]string{"none", "w"}, strings.NewReader(""), io.Discard, &errs); code != 64 || errs.Len() == 0 {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
