package oci

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"golang.org/x/sys/unix"
)

// Runtime is one of the programs on this host that the driver can speak with.
type Runtime struct {
	Name, Path string
	Version    string // "1.1.5+ds1"; "" where it does not say
	Why        string // why it cannot be used here; "": it can
}

// Survey is what the driver finds on this host.
type Survey struct {
	Runtimes []Runtime // the default first
	Cgroup   cgroup.Facts
	Why      string // why no cell can be made here, and what to do; "": they can
	UserNS   int    // user namespaces that the kernel allows; -1: it does not say
}

// Look looks at this host, and changes nothing.
func Look(ctx context.Context) Survey {
	s := Survey{Cgroup: cgroup.Inspect(), UserNS: -1}
	found := findRuntimes()
	for _, p := range found {
		s.Runtimes = append(s.Runtimes, Runtime{Name: p.name, Path: p.path, Version: p.exactly(ctx), Why: p.why})
	}
	_, err := pick(found, "")
	switch {
	case os.Geteuid() != 0:
		s.Why = "cells are made by root: run hotcell as root, or with a Docker engine"
	case s.Cgroup.Why != "":
		s.Why = "no cell without a control group around it: " + s.Cgroup.Why
	case err != nil:
		s.Why = strings.TrimSuffix(err.Error(), ": "+sandbox.ErrUnavailable.Error())
	}
	if text, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			s.UserNS = n
		}
	}
	return s
}

// exactly is a runtime's version, with the distribution's where it says that behind its commit: "1.1.5+ds1-1+deb12u1".
func (p program) exactly(ctx context.Context) string {
	version, err := p.version(ctx)
	if err != nil {
		return ""
	}
	version = strings.TrimPrefix(version, p.name+" ")
	about, _ := p.about(ctx) // it has just answered
	for line := range strings.Lines(about) {
		if commit, ok := strings.CutPrefix(strings.TrimSpace(line), "commit: "); ok && strings.HasPrefix(commit, version) {
			return commit
		}
	}
	return version
}

var _ sandbox.Inspector = (*Driver)(nil)

// Inspect says what this host is to cells, in the words that an engine has for itself. It fails where no cell can be made.
func (d *Driver) Inspect(ctx context.Context) (sandbox.EngineFacts, error) {
	began := time.Now()
	caps, err := d.Capabilities(ctx)
	if err != nil {
		return sandbox.EngineFacts{}, err
	}
	p, err := pick(d.found, "")
	if err != nil {
		return sandbox.EngineFacts{}, err
	}
	look := Look(ctx)
	f := sandbox.EngineFacts{
		Version: caps.Engine, OS: caps.OS, Arch: caps.Arch, CPUs: caps.CPUs, Memory: caps.Memory, Clock: time.Now(),
		Root: d.cache.dir, Runtimes: map[string]string{}, DefaultRuntime: p.name,
		CgroupVersion: strconv.Itoa(look.Cgroup.Version), CgroupDriver: "cgroupfs",
		Security: security(),
	}
	for _, r := range look.Runtimes {
		if r.Why == "" {
			f.Runtimes[r.Name] = r.Path
		}
		if r.Name == "runc" {
			f.Runc = r.Version
		}
	}
	f.MemoryLimit, f.SwapLimit = true, look.Cgroup.Version == 2 || exists(look.Cgroup.Mount, "memory.memsw.limit_in_bytes")
	f.PIDsLimit, f.CPUQuota = true, true // or Start refuses the cell: it reads them back
	var uts unix.Utsname
	if err := unix.Uname(&uts); err == nil {
		f.Host, f.Kernel = unix.ByteSliceToString(uts.Nodename[:]), unix.ByteSliceToString(uts.Release[:])
	}
	f.Took = time.Since(began)
	return f, nil
}

// VolumeBytes returns nothing: what the folders of the cache take is not added up.
func (d *Driver) VolumeBytes(context.Context) (map[string]int64, error) { return nil, nil }

// security are the walls that the kernel has.
func security() []sandbox.SecurityOption {
	var all []sandbox.SecurityOption
	if exists("/proc/sys/kernel/seccomp", "actions_avail") {
		all = append(all, sandbox.SecurityOption{Name: "seccomp"})
	}
	if text, err := os.ReadFile("/sys/kernel/security/lsm"); err == nil {
		for name := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
			if name == "apparmor" || name == "selinux" {
				all = append(all, sandbox.SecurityOption{Name: name})
			}
		}
	}
	return all
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
