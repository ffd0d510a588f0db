package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How long killing a group's processes is tried, and how long freezing it.
const (
	killLimit   = 2 * time.Second
	freezeLimit = 200 * time.Millisecond
	killPause   = 5 * time.Millisecond
)

var errUnseen = errors.New("no process of the cell was seen in a control group of hotcell's own")

// Kill sends SIGKILL to all processes of the group, without the engine. It returns once they are gone, or after two
// seconds with an error: a process that the kernel holds cannot die.
func (g *Group) Kill() error {
	if g == nil || !g.see() {
		return errUnseen
	}
	g.mu.Lock()
	path := g.path
	g.mu.Unlock()
	return g.m.kill(path)
}

func (m *Manager) kill(path string) error {
	end := time.Now().Add(killLimit)
	for {
		pids := m.processes(path)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("group %s: %d processes do not die, process %d first of them", path, len(pids), pids[0])
		}
		m.signal(path, pids)
		time.Sleep(killPause)
	}
}

// signal kills at one stroke where the kernel can (5.14 and later, beside v1 too if the runtime uses the v2 tree there),
// and one by one while they are frozen elsewhere: so none can fork away.
func (m *Manager) signal(path string, pids []int) {
	if m.mounts.unified != "" {
		err := write("1", m.mounts.unified, path, "cgroup.kill")
		if err == nil && m.mounts.version == 2 {
			return
		}
	}
	thaw := m.freeze(path)
	defer thaw()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	for _, pid := range m.processes(path) { // born before the freeze
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// processes are those in a group and below it, as this process sees them.
func (m *Manager) processes(path string) []int {
	var pids []int
	_ = filepath.WalkDir(filepath.Join(m.mounts.memory(), path), func(dir string, entry os.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.IsDir() {
			return nil
		}
		for _, s := range fields(dir, "cgroup.procs") {
			if pid, err := strconv.Atoi(s); err == nil && pid > 1 && pid != os.Getpid() { // 0: of another pid namespace
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// freeze stops a v1 group, as far as it lets itself be stopped in time, and returns what lets it go again: a process that
// is frozen doesn't die. On v2 it does nothing.
func (m *Manager) freeze(path string) (thaw func()) {
	point := m.mounts.controllers["freezer"]
	dir := filepath.Join(point, path)
	if m.mounts.version != 1 || point == "" || write("FROZEN", dir, "freezer.state") != nil {
		return func() {}
	}
	for end := time.Now().Add(freezeLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if state := fields(dir, "freezer.state"); len(state) == 1 && state[0] == "FROZEN" {
			break
		}
	}
	return func() {
		_ = write("THAWED", dir, "freezer.state")
		for _, name := range subgroups(dir) { // the engine may have paused the container by itself
			_ = write("THAWED", dir, name, "freezer.state")
		}
	}
}

// destroy kills what is left in a group and removes it. One whose limits go at once, as the kernel lets no group go that has a
// process in it, has nothing left.
func (m *Manager) destroy(path string, likely ...string) error {
	if err := below(path); err != nil {
		return err
	}
	if removeTree(filepath.Join(m.mounts.memory(), path), likely...) != nil {
		if err := m.kill(path); err != nil {
			return err
		}
	}
	return removeAll(m.mounts.all, path, likely...)
}
