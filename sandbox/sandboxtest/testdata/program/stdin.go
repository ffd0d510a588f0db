package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stdin does something with its own stdin, says "ready" and reads then: in half a second, so that what is written meanwhile waits, or
// never. It prints all that came, and "eof" on stderr.
func stdin(args []string) int {
	if err := tricks[args[0]](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	if len(args) > 1 && args[1] == "never" {
		time.Sleep(time.Hour)
	}
	time.Sleep(500 * time.Millisecond)
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Fprintln(os.Stderr, "eof")
	time.Sleep(time.Hour)
	return 0
}

var tricks = map[string]func() error{
	"plain":  func() error { return nil },
	"closed": func() error { return unix.Close(0) },
	"tiny": func() error {
		_, err := unix.FcntlInt(0, unix.F_SETPIPE_SZ, 4096)
		return err
	},
	"full": func() error {
		fd, err := unix.Open("/proc/self/fd/0", unix.O_WRONLY|unix.O_NONBLOCK, 0)
		for err == nil {
			_, err = unix.Write(fd, make([]byte, 4096))
		}
		if err != unix.EAGAIN {
			return err
		}
		return unix.Close(fd)
	},
	"pipe": func() error {
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			return err
		}
		return unix.Dup3(p[0], 0, 0)
	},
	"socket": func() error {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Dup3(p[0], 0, 0)
	},
	"fifo": func() error {
		if err := unix.Mkfifo("/scratch/pipe:[1]", 0o600); err != nil {
			return err
		}
		return over("/scratch/pipe:[1]", unix.O_RDWR)
	},
	"file":   func() error { return over("/scratch/file", unix.O_RDWR|unix.O_CREAT) },
	"null":   func() error { return over("/dev/full", unix.O_RDWR) },
	"stdout": func() error { return over("/proc/self/fd/1", unix.O_RDONLY) },
	"threads": func() error { // many processes beside it
		for range 8 {
			if _, err := os.StartProcess("/bin/program", []string{"program", "sleep"}, &os.ProcAttr{}); err != nil {
				return err
			}
		}
		return nil
	},
}

// over puts a file in place of stdin.
func over(path string, how int) error {
	fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Dup3(fd, 0, 0)
}
