package oci

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is how much of a stream waits for its reader. It is the most that the kernel gives anybody.
const pipeSize = 1 << 20

// streams are our ends of a cell's three pipes.
type streams struct{ stdin, stdout, stderr *os.File }

func (s *streams) close() {
	for _, f := range []*os.File{s.stdin, s.stdout, s.stderr} {
		_ = f.Close()
	}
}

// openStreams makes the pipes. The cell's ends block, as programs expect.
func openStreams() (ours *streams, theirs [3]*os.File, err error) {
	var mine [3]*os.File
	defer func() {
		if err != nil {
			for i := range mine {
				_, _ = mine[i].Close(), theirs[i].Close() // nil is an error, no more
			}
		}
	}()
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		var fd [2]int // read, write
		if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
			return nil, theirs, os.NewSyscallError("pipe2", err)
		}
		us, them := fd[0], fd[1]
		if name == "stdin" {
			us, them = them, us
		} else {
			_, _ = unix.FcntlInt(uintptr(us), unix.F_SETPIPE_SZ, pipeSize) // smaller will do
		}
		theirs[i] = os.NewFile(uintptr(them), name)
		if err := unix.SetNonblock(us, true); err != nil {
			_ = unix.Close(us)
			return nil, theirs, os.NewSyscallError("fcntl", err)
		}
		mine[i] = os.NewFile(uintptr(us), name)
	}
	return &streams{mine[0], mine[1], mine[2]}, theirs, nil
}
