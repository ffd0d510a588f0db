package gate

import (
	"os"
	"sync"
	"syscall"
)

// feed is the way into a program's stdin. What the program takes at once is written where it arrives, which spares a waiting program a
// switch of goroutines; the rest goes through a pipe to somebody who may wait.
type feed struct {
	mu     sync.Mutex
	to     *os.File
	raw    syscall.RawConn
	behind int // bytes that have yet to come through the pipe
}

// open says where it goes.
func (f *feed) open(to *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = to
	f.raw, _ = to.SyscallConn() // nil where it cannot be: then all comes through the pipe
}

// now writes what goes at once, and returns what is to go through the pipe.
func (f *feed) now(p []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.raw != nil && f.behind == 0 {
		n := 0
		_ = f.raw.Write(func(fd uintptr) bool {
			n, _ = syscall.Write(int(fd), p)
			return true
		})
		p = p[max(n, 0):]
	}
	f.behind += len(p)
	return p
}

// Write is for what comes through the pipe.
func (f *feed) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind -= n
	return n, err
}
