package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func diskCommands() []command {
	return []command{
		{"disk-fill", func([]string) { diskFill() }},
		{"disk-inodes", func([]string) { diskInodes() }},
		{"disk-inodes-shm", func([]string) { emptyFiles("/dev/shm", 1<<26); result("more than there is memory for") }},
		{"disk-attributes", func([]string) { diskAttributes() }},
		{"disk-read-only", func([]string) { diskReadOnly() }},
		{"disk-then-memory", func([]string) { _ = fill("/workspace"); _ = fill("/dev/shm"); eat() }},
		{"loopback-flood", func([]string) { loopbackFlood() }},
	}
}

// places are all folders in which a file can be made, found by trying each there is.
func places() []string {
	var found []string
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if path == "/proc" || path == "/sys" {
			return filepath.SkipDir // another row's
		}
		probe := filepath.Join(path, ".probe")
		if fd, err := unix.Open(probe, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o600); err == nil {
			_ = unix.Close(fd)
			_ = unix.Unlink(probe)
			found = append(found, path)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// fill writes to a file in dir until the kernel refuses, and returns how much it took and what the kernel said.
func fill(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "fill"), unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	chunk := make([]byte, 64<<10)
	for range 4 << 30 / len(chunk) {
		if n, err := unix.Write(fd, chunk); err != nil {
			return err
		} else if n < len(chunk) {
			chunk = chunk[:4096]
		}
	}
	return nil
}

// diskFill fills every place at once. Each refuses before the memory is used up.
func diskFill() {
	r := newReport()
	found := places()
	own := []string{"/workspace", "/out", "/run/hotcell", "/dev/shm", "/dev/mqueue"}
	for _, place := range found {
		known := slices.ContainsFunc(own, func(o string) bool { return place == o || strings.HasPrefix(place, o+"/") })
		r.holds("place-"+place, known, "writable")
	}
	var total int64
	for _, dir := range own {
		if dir == "/dev/mqueue" {
			r.refused("fill-"+dir, fill(dir)) // its files are queues and hold no bytes
			continue
		}
		r.refusedWith("fill-"+dir, fill(dir), unix.ENOSPC)
		info, err := os.Stat(filepath.Join(dir, "fill"))
		must(err)
		total += info.Size()
		r.refusedWith("allocate-"+dir, allocate(dir, 1<<40), unix.ENOSPC, unix.EFBIG)
	}
	r.holds("total", total > 64<<20 && total <= 128<<20, "%d MiB", total>>20)
	for _, dir := range own {
		_ = os.Remove(filepath.Join(dir, "fill"))
		_ = os.Remove(filepath.Join(dir, "allocated"))
	}
	r.send()
}

func allocate(dir string, size int64) error {
	fd, err := unix.Open(filepath.Join(dir, "allocated"), unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fallocate(fd, 0, 0, size)
}

// emptyFiles makes files without content, at most so many, and returns how many there could be.
func emptyFiles(dir string, most int) (int, error) {
	for i := range most {
		fd, err := unix.Open(filepath.Join(dir, "e"+strconv.Itoa(i)), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
		if err != nil {
			return i, err
		}
		_ = unix.Close(fd)
	}
	return most, nil
}

// diskInodes makes empty files in every place until the kernel refuses.
func diskInodes() {
	r := newReport()
	for _, dir := range []string{"/workspace", "/out", "/run/hotcell", "/dev/mqueue"} {
		sub := filepath.Join(dir, "many")
		if dir == "/dev/mqueue" {
			sub = dir // it knows no folders
		} else {
			must(os.Mkdir(sub, 0o700))
		}
		n, err := emptyFiles(sub, 1<<20)
		r.refused("files-"+dir, err)
		r.holds("count-"+dir, n < 10_000, "%d, %v", n, err)
		if sub != dir {
			must(os.RemoveAll(sub)) // the runner shall find nothing to send
		}
	}
	r.send()
}

// diskAttributes hides memory in attributes of files.
func diskAttributes() {
	r := newReport()
	path := "/workspace/attributes"
	must(os.WriteFile(path, nil, 0o600))
	value := make([]byte, 32<<10)
	var err error
	n := 0
	for ; n < 1<<16 && err == nil; n++ {
		err = unix.Setxattr(path, "user.x"+strconv.Itoa(n), value, 0)
	}
	r.refused("attributes", err)
	r.holds("count", n < 1<<12, "%d", n)
	for _, name := range []string{"security.capability", "trusted.x", "system.posix_acl_access"} {
		r.refused(name, unix.Setxattr(path, name, []byte{1, 0, 0, 2, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0))
	}
	r.send()
}

// diskReadOnly changes what is there: the bundle, the runner, the image.
func diskReadOnly() {
	r := newReport()
	for _, path := range []string{
		"/skill/SKILL.md", "/skill/skillbomb", "/skill", "/hotcell/runner", "/hotcell", "/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/etc/hostname",
		"/usr/bin/python3", "/usr/bin", "/", "/tmp",
	} {
		r.refused("write-"+path, overwrite(path, "x"))
		r.refused("chmod-"+path, unix.Chmod(path, 0o777))
		r.refused("chown-"+path, unix.Chown(path, os.Getuid(), -1))
		r.refused("rename-"+path, unix.Rename(path, path+"-moved"))
		r.refused("remove-"+path, unix.Unlink(path))
		r.refused("truncate-"+path, unix.Truncate(path, 0))
		r.refused("link-"+path, unix.Link(path, "/workspace/link"))
		now := []unix.Timespec{{}, {}}
		r.refused("utimes-"+path, unix.UtimesNanoAt(unix.AT_FDCWD, path, now, 0))
		r.refused("lease-"+path, lease(path))
	}
	r.send()
}

// lease asks to be told, and waited for, when somebody opens a file.
func lease(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return call(unix.SYS_FCNTL, uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
}

// loopbackFlood sends itself as much as it can.
func loopbackFlood() {
	chunk := make([]byte, 32<<10)
	for i := range 4 {
		go func() {
			p, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			must(err)
			to := &unix.SockaddrInet4{Port: 9000 + i, Addr: [4]byte{127, 0, 0, 1}}
			must(unix.Bind(p, to))
			for {
				_ = unix.Sendto(p, chunk, 0, to)
			}
		}()
		time.Sleep(time.Millisecond)
	}
	say(fmt.Sprint("flooding ", len(chunk)), nil)
	select {}
}
