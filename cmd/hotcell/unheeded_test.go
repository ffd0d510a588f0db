package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe that nobody reads takes what it has room for and holds up nobody; its reader learns what it missed.
func TestLogsThatNobodyReads(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil { // in blocking mode, as stderr is
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	logs := heedless(w)
	const lines = 5000
	for i := range lines {
		if n, err := fmt.Fprintf(logs, "line %d %s\n", i, strings.Repeat("x", 100)); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	read := bufio.NewScanner(r)
	for i := range 100 {
		if !read.Scan() || !strings.HasPrefix(read.Text(), fmt.Sprintf("line %d ", i)) {
			t.Fatalf("line %d = %q", i, read.Text())
		}
	}
	go func() {
		_, _ = fmt.Fprintln(logs, "the next one")
		_, _ = fmt.Fprintln(logs, strings.Repeat("long", 10_000))
		_ = w.Close()
	}()
	last, kept, dropped := "", 100, 0
	for read.Scan() {
		switch text := read.Text(); {
		case strings.HasPrefix(text, "line ") && len(text) > 100:
			kept++
		case strings.HasPrefix(text, "hotcell: "):
			if _, err := fmt.Sscanf(text, "hotcell: %d lines of the log were dropped", &dropped); err != nil {
				t.Error(err)
			}
		default:
			last = text
		}
	}
	if kept+dropped != lines || dropped == 0 || !strings.HasPrefix(last, "longlong") {
		t.Errorf("%d lines were kept, %d dropped, the last is %.20q", kept, dropped, last)
	}
	var plain bytes.Buffer
	if heedless(&plain) != &plain {
		t.Error("what is no file is not left as it is")
	}
}
