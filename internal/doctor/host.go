package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What access(2) is asked for, and the capability's number.
const (
	mayWrite, mayEnter = 2, 1
	capSysResource     = 24
)

// LookAround describes this host. It reads, and changes nothing. root is put in front of the system's own files; engineRoot
// is the engine's folder, "" where that is elsewhere.
func LookAround(ctx context.Context, root string, set Settings, engineRoot string) Host {
	at := func(name string) string { return filepath.Join(root, name) }
	h := Host{
		Kernel: line(at("/proc/sys/kernel/osrelease")), Name: line(at("/proc/sys/kernel/hostname")), UID: os.Geteuid(),
		CorePattern: line(at("/proc/sys/kernel/core_pattern")),
		SysResource: hasCapability(read(at("/proc/self/status")), capSysResource),
		Users:       accounts(read(at("/etc/passwd")), set.MinUID, set.MaxUID),
		Data:        lookAtFolder(set.DataDir),
		Socket:      lookAtSocket(ctx, set.Socket),
	}
	if engineRoot != "" {
		h.Engine = space(engineRoot)
	}
	return h
}

// read returns what a small file holds, nothing where it can't be read.
func read(name string) string {
	const most = 1 << 20
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 0, 4096)
	for len(b) < most {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil {
			break
		}
	}
	return string(b)
}

func line(name string) string {
	first, _, _ := strings.Cut(read(name), "\n")
	return strings.TrimSpace(first)
}

// hasCapability looks into the bounding set of a status file.
func hasCapability(status string, which uint) bool {
	for l := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(l, "CapBnd:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set&(1<<which) != 0
		}
	}
	return false
}

// accounts returns the accounts of a password file that have an id of the range.
func accounts(passwd string, low, high int) []string {
	var found []string
	for l := range strings.Lines(passwd) {
		fields := strings.Split(l, ":")
		if len(fields) < 3 || len(found) == 10 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && uid >= low && uid <= high {
			found = append(found, fields[0]+" ("+fields[2]+")")
		}
	}
	return found
}

// lookAtFolder describes a folder, or the nearest one above it that exists.
func lookAtFolder(dir string) Folder {
	var f Folder
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		f.Why = "it is not a folder"
		return f
	case err == nil:
		f.Exists, f.Mode = true, uint32(info.Mode().Perm())
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			f.UID = int(st.Uid)
		}
	case !errors.Is(err, fs.ErrNotExist):
		f.Why = plain(err)
		return f
	}
	there := nearest(dir)
	f.Space = space(there)
	if err := syscall.Access(there, mayWrite|mayEnter); err != nil {
		f.Why = there + ": " + err.Error()
		return f
	}
	f.Writable = true
	return f
}

// nearest returns dir, or the folder nearest above it that exists.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func space(dir string) Space {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil || st.Bsize <= 0 {
		return Space{}
	}
	size := uint64(st.Bsize)
	return Space{Free: st.Bavail * size, Total: st.Blocks * size, FreeInodes: st.Ffree, AllInodes: st.Files}
}

// lookAtSocket describes the place of a unix socket. It connects to one that is there, and says nothing.
func lookAtSocket(ctx context.Context, path string) Socket {
	var s Socket
	info, err := os.Lstat(path)
	switch {
	case err == nil:
		s.Exists, s.IsSocket = true, info.Mode().Type() == fs.ModeSocket
		s.OpenToAll = s.IsSocket && info.Mode().Perm()&0o002 != 0
	case !errors.Is(err, fs.ErrNotExist):
		s.Why = plain(err)
		return s
	}
	if s.IsSocket {
		d := net.Dialer{Timeout: time.Second}
		if conn, err := d.DialContext(ctx, "unix", path); err == nil {
			s.Answers = true
			_ = conn.Close()
		}
	}
	there := nearest(filepath.Dir(path))
	if err := syscall.Access(there, mayWrite|mayEnter); err != nil {
		s.Why = there + ": " + err.Error()
		return s
	}
	s.Usable = true
	return s
}

// plain is a file error without the call's name.
func plain(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}
