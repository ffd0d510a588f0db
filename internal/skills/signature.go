package skills

import (
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// raceWindow is how long after its last change a file may change again without its time telling.
const raceWindow = 2 * time.Second

// signature sums up the names, sizes, times and inodes of the files below a folder, without reading one. newest is the
// latest time of change.
func signature(seed maphash.Seed, fsys fs.FS, folder string) (sum uint64, newest time.Time) {
	s := &signer{fsys: fsys}
	s.hash.SetSeed(seed)
	s.dir(folder, 0)
	return s.hash.Sum64(), s.newest
}

type signer struct {
	fsys   fs.FS
	hash   maphash.Hash
	newest time.Time
	files  int
}

func (s *signer) dir(dir string, depth int) {
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		s.note(dir, err.Error()) // it is part of the signature: the next look may succeed
	}
	for _, e := range entries {
		if s.files++; s.files > 4*maxFiles {
			return
		}
		name := dir + "/" + e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && depth < maxLevels:
			s.note(name, "")
			s.dir(name, depth+1)
		default:
			s.file(name, e)
		}
	}
}

func (s *signer) file(name string, e fs.DirEntry) {
	info, err := e.Info()
	if err != nil {
		s.note(name, err.Error())
		return
	}
	if info.ModTime().After(s.newest) {
		s.newest = info.ModTime()
	}
	s.note(name, "", uint64(info.Mode()), uint64(info.Size()), uint64(info.ModTime().UnixNano()), inode(info))
}

func (s *signer) note(name, what string, numbers ...uint64) {
	var buf [8]byte
	s.hash.WriteString(name)
	s.hash.WriteByte(0)
	s.hash.WriteString(what)
	s.hash.WriteByte(0)
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(buf[:], n)
		s.hash.Write(buf[:])
	}
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
