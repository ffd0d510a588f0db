package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func privilegeCommands() []command {
	return []command{
		{"privileges", func([]string) { privileges() }},
		{"who", func([]string) { who() }},
		{"setuid-programs", func([]string) { setuidPrograms() }},
		{"run-places", func([]string) { runPlaces() }},
		{"core", func([]string) { core() }},
	}
}

// privileges tries to become somebody else and to get capabilities.
func privileges() {
	r := newReport()
	for name, id := range map[string]int{"root": 0, "neighbour": os.Getuid() ^ 1, "daemon": 1} {
		r.refused("setuid-"+name, call(unix.SYS_SETUID, uintptr(id)))
		r.refused("setgid-"+name, call(unix.SYS_SETGID, uintptr(id)))
		r.refused("setresuid-"+name, call(unix.SYS_SETRESUID, uintptr(id), uintptr(id), uintptr(id)))
		r.refused("setgroups-"+name, call(unix.SYS_SETGROUPS, 1, pointer(&[1]uint32{uint32(id)})))
		_, _ = unix.SetfsuidRetUid(id)
		now, _ := unix.SetfsuidRetUid(-1)
		r.holds("setfsuid-"+name, now == os.Getuid() || now == -1, "%d", now) // -1: there is no such call
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all := [2]unix.CapUserData{{Effective: ^uint32(0), Permitted: ^uint32(0), Inheritable: ^uint32(0)}, {Effective: ^uint32(0), Permitted: ^uint32(0)}}
	r.refused("capset", unix.Capset(&header, &all[0]))
	for bit := uintptr(0); bit < 41; bit++ {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, bit, 0, 0); err == nil {
			r.refused("ambient-capability", err)
		}
	}
	r.refused("securebits", unix.Prctl(unix.PR_SET_SECUREBITS, 1, 0, 0, 0))
	r.refused("no-new-privs-off", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
	for key, want := range map[string]string{
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2", "Groups": "",
	} {
		got := status(key)
		r.holds("status-"+key, got == want || key == "Groups" && got == status("Gid-first"), "%q", got)
	}
	r.holds("uid", os.Getuid() >= 65600 && os.Getuid() <= 66599 && os.Geteuid() == os.Getuid() && os.Getgid() == os.Getuid(),
		"%d %d %d", os.Getuid(), os.Geteuid(), os.Getgid())
	r.send()
}

// status is a field of /proc/self/status; "Gid-first" is the first of the group ids.
func status(key string) string {
	b, err := os.ReadFile("/proc/self/status")
	must(err)
	for line := range strings.Lines(string(b)) {
		if key == "Gid-first" && strings.HasPrefix(line, "Gid:") {
			return strings.Fields(line)[1]
		}
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "missing"
}

// identity is who a process is, as it sees itself.
type identity struct{ UID, EUID, GID, EGID int }

func me() identity { return identity{os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()} }

// who prints who it is: it is run by way of a set-uid bit.
func who() { must(json.NewEncoder(os.Stdout).Encode(me())) }

// setuidPrograms runs every set-uid program there is, that of a hostile image above all, and makes some of its own.
func setuidPrograms() {
	r := newReport()
	own := filepath.Join("/workspace", "skillbomb")
	must(copyFile(self(), own, 0o755))
	r.refused("chown-root", os.Chown(own, 0, 0))
	must(unix.Chmod(own, 0o6755)) // one may do that to one's own file; it stays one's own
	found := []string{own}
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (path == "/proc" || path == "/sys") {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 && path != own {
				found = append(found, path)
			}
		}
		return nil
	})
	for _, path := range found {
		if !strings.HasSuffix(path, "skillbomb") {
			continue // what it would do is not known
		}
		var w identity
		out, err := exec.Command(path, "who").Output()
		if err == nil {
			err = json.Unmarshal(out, &w)
		}
		r.holds("run-"+path, err != nil || w == me(), "%v %v", w, err)
	}
	r.Tried["found"] = strings.Join(found, " ")
	r.send()
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// runPlaces runs a program from every writable place: from /workspace it may, from the others not.
func runPlaces() {
	r := newReport()
	for _, dir := range []string{"/out", "/run/hotcell", "/dev/shm", "/workspace"} {
		path := filepath.Join(dir, "skillbomb")
		must(copyFile(self(), path, 0o755))
		_, err := exec.Command(path, "who").Output()
		if dir == "/workspace" {
			r.works("run-"+dir, err)
		} else {
			r.refusedWith("run-"+dir, err, unix.EACCES)
			fd, err := unix.Open(path, unix.O_RDONLY, 0)
			must(err)
			_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
			r.refusedWith("map-"+dir, err, unix.EPERM)
			_ = unix.Close(fd)
		}
		must(os.Remove(path))
		r.refused("device-"+dir, unix.Mknod(path, unix.S_IFBLK|0o600, 8<<8))
		r.refused("char-device-"+dir, unix.Mknod(path, unix.S_IFCHR|0o600, 1<<8|1))
	}
	r.send()
}

// core crashes in every way that leaves a core, and looks for it.
func core() {
	r := newReport()
	limit := unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}
	r.refusedWith("setrlimit-core", setLimit(unix.RLIMIT_CORE, &limit), unix.EPERM)
	for name, signal := range map[string]string{
		"quit": "3", "ill": "4", "trap": "5", "abort": "6", "bus": "7", "fpe": "8", "segv": "11", "xcpu": "24", "xfsz": "25", "sys": "31",
	} {
		c := exec.Command(self(), "signal-self", signal)
		c.Dir = "/workspace"
		_ = c.Run()
		st := unix.WaitStatus(0)
		if ws, ok := c.ProcessState.Sys().(interface{ CoreDump() bool }); ok {
			r.holds("dumped-"+name, !ws.CoreDump(), "%v", ws)
		} else {
			r.holds("dumped-"+name, false, "%v", st)
		}
	}
	for _, dir := range []string{"/workspace", "/out", "/run/hotcell", "/dev/shm", "/", "/tmp"} {
		found, err := filepath.Glob(dir + "/*core*")
		must(err)
		r.holds("core-in-"+dir, len(found) == 0, "%q", found)
	}
	r.send()
}
