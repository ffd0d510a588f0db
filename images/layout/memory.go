package layout

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/images"
)

// maxKnown is how many references are remembered.
const maxKnown = 1000

// settled is how long ago an index must have been written for what it says to be remembered: two that are written at once could have the
// same stamp.
const settled = time.Second

// memory remembers what references stand for, as long as the index is the file that it was: each call of a skill asks.
type memory struct {
	mu    sync.Mutex
	index stamp
	known map[string]images.Image
}

// stamp tells a file from the one that replaces it.
type stamp struct {
	device, inode    uint64
	size             int64
	modified, change unix.Timespec
}

// stampOf returns the stamp of a file, and whether it is one to go by.
func stampOf(file string) (stamp, bool) {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return stamp{}, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}, time.Since(time.Unix(st.Ctim.Unix())) > settled
}

// recall returns the image that a reference stood for when the index had this stamp.
func (m *memory) recall(now stamp, ref string) (images.Image, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now != m.index {
		return images.Image{}, false
	}
	img, ok := m.known[ref]
	return own(img), ok
}

// keep remembers what a reference stands for.
func (m *memory) keep(now stamp, ref string, img images.Image) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now != m.index || len(m.known) >= maxKnown {
		m.index, m.known = now, map[string]images.Image{}
	}
	m.known[ref] = own(img)
}

// own is a copy with lists of its own.
func own(img images.Image) images.Image {
	img.Env, img.Entrypoint, img.Cmd, img.Volumes = slices.Clone(img.Env), slices.Clone(img.Entrypoint), slices.Clone(img.Cmd), slices.Clone(img.Volumes)
	return img
}

// remembered returns an image that is here, from memory where that serves: its reference stands for the same one, whose tree is there.
func (s *Store) remembered(ref string) (images.Image, error) {
	now, good := stampOf(s.indexFile())
	if img, ok := s.memory.recall(now, ref); good && ok {
		if _, err := os.Lstat(s.rootfs(img.ID)); err == nil {
			return img, nil
		}
	}
	img, err := s.known(ref)
	if again, _ := stampOf(s.indexFile()); err == nil && good && again == now {
		s.memory.keep(now, ref, img)
	}
	return img, err
}
