package oci

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"golang.org/x/sys/unix"
)

// folder is a cell's in the run folder: all that is known of it outside of its supervisor.
type folder string

func (d *Driver) folder(instance, name string) folder {
	return folder(filepath.Join(d.run, instance, name))
}

func (f folder) record() string { return filepath.Join(string(f), "cell.json") }
func (f folder) config() string { return filepath.Join(string(f), "config.json") }
func (f folder) state() string  { return filepath.Join(string(f), "state") }
func (f folder) stated() string {
	return filepath.Join(f.state(), filepath.Base(filepath.Dir(string(f)))+"."+filepath.Base(string(f)), "state.json")
}
func (f folder) log() string   { return filepath.Join(string(f), "log") }
func (f folder) pid() string   { return filepath.Join(string(f), "pid") }
func (f folder) birth() string { return filepath.Join(string(f), "birth") }

// remove removes the folder, with what a runtime has mounted in it: runsc keeps an empty network namespace there, and a runc
// that was killed at its very beginning leaves a copy of itself.
func (f folder) remove() error {
	// First what is there mostly, without a look at what is.
	for _, file := range []string{f.stated(), f.log(), f.config(), f.record()} {
		_ = unix.Unlink(file)
	}
	for _, dir := range []string{filepath.Dir(f.stated()), f.state()} {
		_ = unix.Rmdir(dir)
	}
	if unix.Rmdir(string(f)) == nil {
		return nil
	}
	err := os.RemoveAll(string(f))
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	for _, pattern := range []string{"null-netns", "*/runc.*"} {
		mounted, _ := filepath.Glob(filepath.Join(f.state(), pattern)) // it fails for bad patterns alone
		for _, point := range mounted {
			_ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // the removal tells
		}
	}
	return os.RemoveAll(string(f))
}

// record is what a supervisor writes down of a cell.
type record struct {
	Labels  map[string]string `json:"labels"`
	Created time.Time         `json:"created"`
	Uses    []string          `json:"uses"` // folders of the cache
}

func (f folder) readRecord() (record, error) {
	var r record
	text, err := os.ReadFile(f.record())
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// writeJSON writes a file that is not there, at one stroke for who reads it.
func writeJSON(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// process is a process that may have ended, and whose number may be another's by now.
type process struct {
	pid   int
	birth string // when it was born, in the kernel's ticks
}

// process returns the cell's first process: an error that wraps [fs.ErrNotExist] if it had none.
func (f folder) process() (process, error) {
	text, err := os.ReadFile(f.pid())
	if errors.Is(err, fs.ErrNotExist) {
		return f.readState()
	}
	if err != nil {
		return process{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return process{}, fmt.Errorf("%s: %w", f.pid(), err)
	}
	birth, err := os.ReadFile(f.birth())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // its supervisor died before it wrote it down
	}
	return process{pid, string(birth)}, err
}

// readState returns the process that runc's state tells of. The state is there, at one stroke, before the process is let on to
// where it waits.
func (f folder) readState() (process, error) {
	file, err := os.Open(f.stated())
	if err != nil {
		return process{}, err
	}
	defer func() { _ = file.Close() }() // read only
	var pid int
	var birth uint64
	if err := members(json.NewDecoder(file), map[string]any{"init_process_pid": &pid, "init_process_start": &birth}); err != nil {
		return process{}, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return process{pid, strconv.FormatUint(birth, 10)}, nil
}

// members reads some members of an object, and no more of it than has them all: what is behind them is long.
func members(d *json.Decoder, want map[string]any) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for left := len(want); left > 0; {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("%d of %d members that were expected are not there", left, len(want))
		}
		var rest json.RawMessage
		value, wanted := want[name]
		if !wanted {
			value = &rest
		} else {
			left--
		}
		if err := d.Decode(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// lives reports whether the process runs. A zombie does not.
func (p process) lives() bool {
	state, birth, ok := lookUp(p.pid)
	return ok && state != "Z" && state != "X" && (p.birth == "" || p.birth == birth)
}

// lookUp reads a process's state and time of birth.
func lookUp(pid int) (state, birth string, ok bool) {
	f := statOf(pid)
	if f == nil {
		return "", "", false
	}
	return f[0], f[19], true
}

// parentOf is a process's parent, 0 if it has ended.
func parentOf(pid int) int {
	f := statOf(pid)
	if f == nil {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// statOf reads what the kernel tells of a process behind its name: state, parent, and on the 20th place the time of birth.
func statOf(pid int) []string { return statIn(fmt.Sprintf("/proc/%d/stat", pid)) }

func statIn(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name may hold anything
	if len(f) < 20 {
		return nil
	}
	return f
}

// stateOf is a cell's state in an engine's words.
func (f folder) stateOf() string {
	p, err := f.process()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "created"
	case err == nil && p.lives():
		return "running"
	}
	return "exited"
}

// labels returns a new cell's labels: the caller's, then the driver's own.
func (d *Driver) labels(extra map[string]string) map[string]string {
	l := make(map[string]string, len(extra)+3)
	for key, value := range extra {
		l[key] = value
	}
	l[sandbox.LabelManaged], l[sandbox.LabelKind], l[sandbox.LabelInstance] = "1", "cell", d.instance
	return l
}
