package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

func outputCommands() []command {
	return []command{
		{"print", func(args []string) { printBytes(args[0], number(args[1]), number(args[2])) }},
		{"print-lines", func(args []string) { printLines(number(args[0]), strings.Join(args[1:], " ")) }},
		{"print-raw", func(args []string) { printRaw(args[0]) }},
		{"print-split", func(args []string) { printSplit(args[0]) }},
		{"print-closed", func(args []string) { printClosed(args[0], number(args[1])) }},
		{"print-until", func(args []string) { printUntil(time.Duration(number(args[0])) * time.Millisecond) }},
		{"unread", func([]string) { fmt.Println(`"did not listen"`) }},
	}
}

// streams are the files that a name means.
func streams(name string) []*os.File {
	switch name {
	case "stdout":
		return []*os.File{os.Stdout}
	case "stderr":
		return []*os.File{os.Stderr}
	}
	return []*os.File{os.Stdout, os.Stderr}
}

// printBytes prints so many bytes in lines of so many; 0 for one line without an end.
func printBytes(name string, total, line int) {
	const most = 1 << 20
	piece := bytes.Repeat([]byte("x"), most)
	if line > 0 {
		piece = bytes.Repeat(append(bytes.Repeat([]byte("x"), line-1), '\n'), max(1, most/line))
	}
	for written := 0; written < total; written += len(piece) {
		for _, f := range streams(name) {
			if _, err := f.Write(piece[:min(len(piece), total-written)]); err != nil {
				os.Exit(4)
			}
		}
	}
}

// printLines prints one line again and again; "#" in it becomes the line's number, "@list" half a megabyte of a list's
// numbers and "@chunk" three quarters of one in base64.
func printLines(n int, text string) {
	text = strings.ReplaceAll(text, "@list", strings.Repeat("1,", 1<<18)+"1")
	text = strings.ReplaceAll(text, "@chunk", strings.Repeat("AAAA", 190_000))
	var b bytes.Buffer
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
		b.WriteByte('\n')
		if b.Len() > 1<<16 || i == n-1 {
			if _, err := os.Stdout.Write(b.Bytes()); err != nil {
				os.Exit(4)
			}
			b.Reset()
		}
	}
}

// printRaw prints bytes that are no text.
func printRaw(kind string) {
	var b []byte
	switch kind {
	case "binary":
		for range 256 {
			for c := range 256 {
				b = append(b, byte(c))
			}
		}
	case "nul":
		b = make([]byte, 100_000)
	case "invalid":
		b = bytes.Repeat([]byte("\xffa\xc3\xed\xa0\x80b\xf4\x90\x80\x80c\n"), 2000)
	case "open-json":
		b = []byte(`{"a": [1, 2`)
	case "open-value":
		b = []byte(`{"a": 1}`)
	case "open-result":
		b = []byte(`{"type":"skill/result","success":true,"data":"no line feed"}`)
	}
	_, err := os.Stdout.Write(b)
	must(err)
}

// printSplit prints a text byte by byte.
func printSplit(text string) {
	for i := range len(text) {
		_, err := os.Stdout.Write([]byte{text[i]})
		must(err)
		if i%7 == 0 {
			time.Sleep(time.Millisecond) // lets the reader take half a character
		}
	}
}

// printClosed closes streams, writes to what is left and exits with a code.
func printClosed(name string, code int) {
	for _, f := range streams(name) {
		must(f.Close())
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		_, _ = f.WriteString("still here\n")
	}
	os.Exit(code)
}

// printUntil prints lines at a pace that stays below every budget, for so long, and then a result.
func printUntil(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		fmt.Println("and on and on it goes, as if there were no end to it")
		time.Sleep(time.Millisecond)
	}
	result("late")
}
