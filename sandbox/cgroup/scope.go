package cgroup

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// scope is version 2 under systemd's driver. Groups of our own would have to be asked of systemd, a round trip over D-Bus
// for each cell, or could be undone by it. So there are none: what is read is the container's own scope, which systemd
// removes soon after its end. A watch on its memory.events keeps what was counted last; an end of which nothing was seen
// proves nothing, and is left to the engine's word.
type scope struct{ v2 }

func (scope) share(string, quota) error { return nil }

func (scope) hold(string) error { return nil }

func (scope) enclose(string, int64) (*ring, error) { return nil, nil }

// kills counts in the container's scope, and is not known once that is gone.
func (s scope) kills(container string) (int64, bool) {
	return entry("oom_kill", s.unified, container, "memory.events")
}

// scopePath is where an engine with systemd's driver and its default parent puts a container.
func scopePath(container string) string { return "/system.slice/docker-" + container + ".scope" }

// watch tells of changes to a file.
type watch struct{ file *os.File }

func newWatch(parts ...string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	w := &watch{file: os.NewFile(uintptr(fd), "inotify")}
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(parts...), unix.IN_MODIFY); err != nil {
		_ = w.file.Close()
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	return w, nil
}

// next waits for a change. It reports false once the watch is closed.
func (w *watch) next() bool {
	var events [4096]byte
	_, err := w.file.Read(events[:])
	return err == nil
}

func (w *watch) close() { _ = w.file.Close() }

// How long after a change the file is looked at, and how often: the kernel tells of changes no more than once in 10 ms, and
// the kill may be the one that it has not told of yet when the scope goes away.
const (
	afterChange = 24 * time.Millisecond
	changePause = 3 * time.Millisecond
)

// follow samples with each change, and a little after.
func (g *Group) follow(w *watch) {
	g.work.Go(func() {
		for more := true; more; more = w.next() {
			for end := time.Now().Add(afterChange); g.glance() && time.Now().Before(end); {
				time.Sleep(changePause)
			}
		}
	})
}

// glance samples once and reports whether another look may show more.
func (g *Group) glance() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.kills
	return !g.removed && g.sample() && g.kills == before
}
