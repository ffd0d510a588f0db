package main

import (
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func probes() map[string]func(args []string) int {
	return map[string]func(args []string) int{
		"probe": probe,
		"hog":   hog,
		"list":  list,
		"stdin": stdin,
	}
}

// probe prints "NAME: VERDICT" for each thing that a cell must not be able to do, and for a few that it must.
func probe([]string) int {
	for _, p := range []struct {
		name string
		try  func() error
	}{
		{"socket AF_ALG", socket(unix.AF_ALG)},
		{"socket AF_VSOCK", socket(unix.AF_VSOCK)},
		{"io_uring_setup", func() error { return errno(unix.SYS_IO_URING_SETUP, 1, 0, 0) }},
		{"unshare user", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"ptrace", func() error { return errno(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0) }},
		{"bpf", func() error { return errno(unix.SYS_BPF, 0, 0, 0) }},
		{"mount", func() error { return unix.Mount("none", "/scratch", "tmpfs", 0, "") }},
		{"write root", func() error { return os.WriteFile("/x", nil, 0o600) }},
		{"read kcore", readSome("/proc/kcore")},
		{"read keys", readSome("/proc/keys")},
		{"write sysrq", func() error { return os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0o600) }},
		{"dial outside", dialOutside},
		{"write scratch", func() error { return os.WriteFile("/scratch/x", []byte("x"), 0o600) }},
		{"fill scratch", fillScratch},
	} {
		verdict := "done"
		if err := p.try(); err != nil {
			verdict = "refused"
		}
		fmt.Printf("%s: %s\n", p.name, verdict)
	}
	fmt.Printf("interfaces: %s\n", interfaces())
	fmt.Printf("uid: %d gid: %d groups: %v\n", os.Getuid(), os.Getgid(), groups())
	host, _ := os.Hostname()
	fmt.Printf("hostname: %s\n", host)
	fmt.Printf("status: %s\n", status())
	return 0
}

func socket(family int) func() error {
	return func() error {
		fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		if family == unix.AF_ALG && err != nil {
			fd, err = unix.Socket(family, unix.SOCK_SEQPACKET, 0)
		}
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

func errno(number, a, b, c uintptr) error {
	if _, _, e := unix.Syscall(number, a, b, c); e != 0 {
		return e
	}
	return nil
}

// readSome fails where a file cannot be read or has nothing in it: a masked file is /dev/null.
func readSome(path string) func() error {
	return func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Read(make([]byte, 1)); err != nil {
			return err
		}
		return nil
	}
}

func dialOutside() error {
	conn, err := net.DialTimeout("udp", "192.0.2.1:9", time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	return err
}

// fillScratch succeeds if the tmpfs refuses before memory runs out.
func fillScratch() error {
	f, err := os.Create("/scratch/big")
	if err != nil {
		return err
	}
	defer os.Remove("/scratch/big")
	defer f.Close()
	block := make([]byte, 1<<20)
	for range 64 {
		if _, err := f.Write(block); err != nil {
			return nil
		}
	}
	return fmt.Errorf("64 MiB fit")
}

func interfaces() string {
	all, err := net.Interfaces()
	if err != nil {
		// Go asks over netlink; without it the kernel's directory says the same.
		entries, _ := os.ReadDir("/sys/class/net")
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ")
}

func groups() []int {
	g, _ := os.Getgroups()
	return g
}

// status prints what the kernel says of privileges: no capability in any set, seccomp filtering, no new privileges.
func status() string {
	data, _ := os.ReadFile("/proc/self/status")
	var out []string
	for line := range strings.SplitSeq(string(data), "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Seccomp", "NoNewPrivs":
			out = append(out, key+"="+strings.TrimSpace(value))
		}
	}
	return strings.Join(out, " ")
}

// hog takes memory until it is killed.
func hog([]string) int {
	debug.SetGCPercent(-1)
	var all [][]byte
	for {
		block := make([]byte, 4<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		all = append(all, block)
		if len(all) > 1024 {
			return 0
		}
	}
}

// list prints a directory with modes and owners.
func list(args []string) int {
	entries, err := os.ReadDir(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, e := range entries {
		var st unix.Stat_t
		if err := unix.Stat(args[0]+"/"+e.Name(), &st); err != nil {
			return 1
		}
		fmt.Printf("%s %o %d:%d %d\n", e.Name(), st.Mode&0o7777, st.Uid, st.Gid, st.Mtim.Sec)
	}
	return 0
}
