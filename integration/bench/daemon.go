package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// daemon is a running hotcell serve.
type daemon struct {
	cmd    *exec.Cmd
	dir    string
	socket string
	url    string
}

// serve starts the program that make build made, with the skills of this program.
func (b *bench) serve(ctx context.Context) (*daemon, error) {
	dir, err := b.yard.folder()
	if err != nil {
		return nil, err
	}
	if err := writeSkills(filepath.Join(dir, "skills")); err != nil {
		return nil, err
	}
	return b.serveIn(ctx, dir)
}

// install copies the program once, as an installation does. The kernel's cache holds what a linker has just written in pieces of up
// to 2 MiB, each of which counts whole as memory of who reads a line of it.
func (b *bench) install() (string, error) {
	if b.installed != "" {
		return b.installed, nil
	}
	from, err := os.Open(b.program)
	if err != nil {
		return "", absent{"there is no " + b.program + ": make build makes it"}
	}
	defer from.Close()
	dir, err := b.yard.folder()
	if err != nil {
		return "", err
	}
	to, err := os.OpenFile(filepath.Join(dir, "hotcell"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return "", err
	}
	b.installed = to.Name()
	return b.installed, nil
}

// serveIn starts it in a folder, with the skills and the data that are there.
func (b *bench) serveIn(ctx context.Context, dir string) (*daemon, error) {
	program, err := b.install()
	if err != nil {
		return nil, err
	}
	d := &daemon{dir: dir, socket: filepath.Join(dir, "s")}
	d.cmd = exec.Command(program, "serve", "--socket", d.socket, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	d.cmd.Dir = dir
	d.cmd.Env = append(os.Environ(), "HOTCELL_SKILLS="+filepath.Join(dir, "skills"))
	said, err := d.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	defer context.AfterFunc(ctx, func() { _ = d.cmd.Process.Kill() })()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("hotcell serve ended before it was ready: %s", line), d.cmd.Wait())
		}
		if _, rest, ready := strings.Cut(line, "ready: "); ready {
			d.url, _, _ = strings.Cut(rest, " ")
			go func() { _, _ = io.Copy(io.Discard, lines) }() // until the daemon's end
			return d, nil
		}
	}
}

func writeSkills(dir string) error {
	skills := benchSkills()
	return fs.WalkDir(skills, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(dir, path), 0o755))
		}
		return os.WriteFile(filepath.Join(dir, path), skills[path].Data, 0o644)
	})
}

// ask calls a skill over the socket, and returns the answer's error.
func (d *daemon) ask(ctx context.Context, skill string) (*a2e.Error, error) {
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err = a2e.NewEncoder(conn).Encode(&a2e.CallRequest{Name: names[skill], Arguments: map[string]any{"text": text}})
	if err != nil {
		return nil, err
	}
	for dec := a2e.NewDecoder(conn, 0); ; {
		m, err := dec.Decode()
		if err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		if answer, ok := m.(*a2e.CallResponse); ok {
			return answer.Error, nil
		}
	}
}

// stop ends the daemon and removes what it made on the engine.
func (d *daemon) stop() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	return errors.Join(err, d.cmd.Wait())
}

// daemonMemory looks at hotcell serve: idle, after some calls, and at its peak while floods pass.
func (b *bench) daemonMemory(ctx context.Context) (err error) {
	d, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	pid := d.cmd.Process.Pid
	if err := rest(ctx, b.idle()); err != nil {
		return err
	}
	if err := b.looked(rssIdle, pid, "VmRSS", 0); err != nil {
		return err
	}
	b.say("memory: calls of hotcell serve")
	if err := together(ctx, 4, b.fewer(100), func(ctx context.Context) error { return d.well(ctx, framesSkill) }); err != nil {
		return err
	}
	if err := b.looked(rssServed, pid, "VmRSS", 0); err != nil {
		return err
	}
	return errors.Join(
		b.peak(rssFlood, pid, func() error { return d.flood(ctx, b.fewer(32)) }),
		b.peak(rssOver, pid, func() error { return d.overflow(ctx) }),
	)
}

// idle is how long a daemon is left alone before its memory counts as that of an idle one: what it does every half a minute has
// been done by then, and has brought back what that needs.
func (b *bench) idle() time.Duration {
	if b.short {
		return 2 * time.Second
	}
	return 45 * time.Second
}

// peak adds a row of how much more memory a process held at most while something happened than before.
func (b *bench) peak(row string, pid int, happen func() error) error {
	if !b.wants("memory", row) {
		return nil
	}
	b.say("memory: %s", row)
	before, err := forgetPeak(pid)
	if err != nil {
		return err
	}
	if err := happen(); err != nil {
		return err
	}
	return b.looked(row, pid, "VmHWM", before)
}

// flood makes so many calls that relay 32 MiB each.
func (d *daemon) flood(ctx context.Context, times int) error {
	for range times {
		if err := d.well(ctx, floodSkill); err != nil {
			return err
		}
	}
	return nil
}

// overflow makes a call that prints more than it may.
func (d *daemon) overflow(ctx context.Context) error {
	refused, err := d.ask(ctx, overSkill)
	if err == nil && (refused == nil || refused.Reason() != a2e.ReasonOutputLimit) {
		err = fmt.Errorf("a flood of 1 GiB ended with %v", refused)
	}
	return err
}

// fewer is how many are enough in a short run.
func (b *bench) fewer(n int) int {
	if b.short {
		return max(1, n/16)
	}
	return n
}

// looked adds a row of a process's memory, less what it had before.
func (b *bench) looked(name string, pid int, key string, before float64) error {
	now, err := memory(pid, key)
	if err == nil && b.wants("memory", name) {
		b.report.add("memory", name, unitMB, (now-before)/1e6)
	}
	return err
}

func (d *daemon) well(ctx context.Context, skill string) error {
	refused, err := d.ask(ctx, skill)
	if refused != nil {
		return refused
	}
	return err
}
