package sandboxtest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Process is what a program in a cell sees of its world.
type Process struct {
	Args      []string // the program's word and its arguments
	Env       []string
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	ReadFile  func(path string) ([]byte, error)
	WriteFile func(path string, data []byte) error
	Block     func() // returns when the process is killed, if it ever does
}

// Program runs the program that p's first argument names and returns its exit code:
//
//	print TEXT     a line on stdout
//	both N         N lines on stdout and stderr in turn
//	cat            stdin to stdout, then "eof" on stderr
//	exit CODE      exits
//	flood BYTES    that many bytes on stdout, then their SHA-256 on stderr
//	env            the environment, sorted, a line each
//	sleep          "ready" on stdout, then nothing until it is killed
//	read PATH      a file's content
//	write PATH     "written" if a file can be written, else "refused"
func Program(p Process) int {
	word, arg := "", ""
	if len(p.Args) > 0 {
		word = p.Args[0]
	}
	if len(p.Args) > 1 {
		arg = p.Args[1]
	}
	n, _ := strconv.Atoi(arg)
	switch word {
	case "print":
		fmt.Fprintln(p.Stdout, arg)
	case "both":
		for i := range n {
			fmt.Fprintf(p.Stdout, "out %d\n", i)
			fmt.Fprintf(p.Stderr, "err %d\n", i)
		}
	case "cat":
		if _, err := io.Copy(p.Stdout, p.Stdin); err != nil {
			return 1
		}
		fmt.Fprintln(p.Stderr, "eof")
	case "exit":
		return n
	case "flood":
		return flood(p, n)
	case "env":
		env := slices.Clone(p.Env)
		slices.Sort(env)
		fmt.Fprintln(p.Stdout, strings.Join(env, "\n"))
	case "sleep":
		fmt.Fprintln(p.Stdout, "ready")
		p.Block()
	case "read", "write":
		return file(p, word, arg)
	default:
		fmt.Fprintf(p.Stderr, "unknown program %q\n", word)
		return 99
	}
	return 0
}

func flood(p Process, n int) int {
	hash := sha256.New()
	chunk := make([]byte, 8<<10)
	for sent := 0; sent < n; {
		for i := range chunk {
			chunk[i] = byte((sent + i) % 251)
		}
		part := chunk[:min(len(chunk), n-sent)]
		hash.Write(part)
		if _, err := p.Stdout.Write(part); err != nil {
			return 1
		}
		sent += len(part)
	}
	fmt.Fprintf(p.Stderr, "%x\n", hash.Sum(nil))
	return 0
}

func file(p Process, word, path string) int {
	if word == "read" {
		data, err := p.ReadFile(path)
		if err != nil {
			fmt.Fprintln(p.Stderr, err)
			return 1
		}
		_, _ = p.Stdout.Write(data)
		return 0
	}
	if err := p.WriteFile(path, []byte("x")); err != nil {
		fmt.Fprintln(p.Stdout, "refused")
		return 0
	}
	fmt.Fprintln(p.Stdout, "written")
	return 0
}
