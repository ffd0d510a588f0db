package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// examined is a bench whose host is as facts say.
func examined(t *testing.T, f doctor.Facts) *bench {
	t.Helper()
	b := newBench(t, succeed(nil, ""))
	b.app.gather = func(context.Context, *config.Config, *slog.Logger) doctor.Facts { return f }
	return b
}

func goodFacts() doctor.Facts {
	return doctor.Facts{
		Settings: doctor.Settings{Runners: []string{"amd64"}, DataDir: "/d", Socket: "/s", MinUID: 65600, MaxUID: 66599},
		Engine: &sandbox.EngineFacts{
			Address: "unix:///e", Version: "28.5.2", API: "1.51", OS: "linux", Arch: "amd64", Runc: "1.3.6", CgroupVersion: "2", CgroupDriver: "systemd",
			MemoryLimit: true, SwapLimit: true, PIDsLimit: true, CPUQuota: true, Memory: 8 << 30, CPUs: 4,
			Security: []sandbox.SecurityOption{{Name: "seccomp"}, {Name: "apparmor"}},
		},
		Host: doctor.Host{Data: doctor.Folder{Exists: true, Writable: true, Space: doctor.Space{Free: 9 << 30, Total: 9 << 30}}, Socket: doctor.Socket{Usable: true}},
		Cell: doctor.Cell{Skipped: "a test has none"},
	}
}

func TestDoctorPrints(t *testing.T) {
	b := examined(t, goodFacts())
	if code := b.run("doctor"); code != exitOK || b.err.Len() > 0 {
		t.Fatalf("exit %d, stderr %q\n%s", code, b.err.String(), b.out.String())
	}
	text := b.out.String()
	for _, want := range []string{"✓ engine ", "✓ seccomp ", "– cell ", "not checked: a test has none", " failed, "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("colour for what is no terminal: %q", text)
	}
}

// Where cells are made without an engine, doctor looks at what makes them.
func TestDoctorWithoutAnEngine(t *testing.T) {
	f := goodFacts()
	f.Settings.Driver = doctor.DriverOCI
	f.Engine.Runtimes = map[string]string{"runc": "/r"}
	f.Direct = doctor.Direct{Asked: true, Cgroup: "2", Runtimes: []doctor.Runtime{{Name: "runc", Path: "/r", Version: "1.3.6"}}}
	b := examined(t, f)
	if code := b.run("doctor", "--driver", "oci"); code != exitOK || b.err.Len() > 0 {
		t.Errorf("exit %d, stderr %q", code, b.err.String())
	}
	if text := b.out.String(); !strings.Contains(text, "✓ oci ") || strings.Contains(text, "✓ engine") {
		t.Errorf("%s", text)
	}
}

func TestDoctorJSON(t *testing.T) {
	b := examined(t, goodFacts())
	if code := b.run("doctor", "--json"); code != exitOK {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	var got struct {
		OK     *bool
		Checks []map[string]string
	}
	d := json.NewDecoder(&b.out)
	if err := d.Decode(&got); err != nil || got.OK == nil || !*got.OK || len(got.Checks) < 30 {
		t.Fatalf("%v: %+v", err, got)
	}
	for _, c := range got.Checks {
		if len(c) != 4 || c["id"] == "" || c["level"] == "" || c["found"] == "" {
			t.Errorf("%+v", c)
		}
	}
	if d.More() {
		t.Error("more than one value")
	}
}

func TestDoctorFails(t *testing.T) {
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		f := goodFacts()
		f.Engine, f.NoEngine = nil, "no engine answers at unix:///e: start it, or set DOCKER_HOST"
		b := examined(t, f)
		if code := b.run(args...); code != exitFailed || b.err.Len() > 0 {
			t.Errorf("%v: exit %d, stderr %q", args, code, b.err.String())
		}
		if text := b.out.String(); !strings.Contains(text, "no engine answers at unix:///e") || !strings.Contains(text, "systemctl start docker") {
			t.Errorf("%v: %s", args, text)
		}
	}
}

// Whatever an engine says, nothing of it steers a terminal, in neither form.
func TestDoctorOfAHostileEngine(t *testing.T) {
	const evil = "1.0\x1b[2J\x1b]0;x\x07\r\n✗ fake\u202e\u009b1m"
	f := goodFacts()
	f.Engine.Version, f.Engine.Runc, f.Engine.System, f.Engine.Kernel, f.Engine.Warnings = evil, evil, evil, evil, []string{evil}
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		b := examined(t, f)
		b.run(args...)
		if text := b.out.String(); strings.ContainsAny(text, "\x1b\r\x07\u202e\u009b") || strings.Contains(text, "\n✗ fake") || !strings.Contains(text, "fake") {
			t.Errorf("%v: %q", args, text)
		}
	}
}

func TestDoctorOnATerminal(t *testing.T) {
	b := examined(t, goodFacts())
	b.env["TERM"] = "xterm"
	master, slave := openPTY(t)
	b.app.stdout = slave
	got := make(chan string)
	go func() {
		data, _ := io.ReadAll(master) // ends with EIO when the other end is closed
		got <- string(data)
	}()
	code := b.run("doctor")
	_ = slave.Close()
	text := <-got
	_ = master.Close()
	if code != exitOK || !strings.Contains(text, "\x1b[32m✓\x1b[0m engine ") {
		t.Errorf("exit %d: %q", code, text)
	}
}

func TestDoctorIsInterrupted(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	b.app.gather = func(ctx context.Context, _ *config.Config, _ *slog.Logger) doctor.Facts {
		<-ctx.Done()
		return doctor.Facts{NoEngine: "told to stop"}
	}
	go func() { (<-b.signals) <- os.Interrupt }()
	if code := b.run("doctor"); code != exitInterrupted || b.out.Len() > 0 {
		t.Errorf("exit %d: %s", code, b.out.String())
	}
}

func TestTheTrialsSkill(t *testing.T) {
	s := host.ProbeSkill(trialName, "sha256:1", trialLimit)
	if s.Run.Image != "sha256:1" || strings.Join(s.Run.Command, " ") != wall.RunnerPath+" "+wall.ProbeFlag {
		t.Errorf("%+v", s.Run)
	}
	if _, err := probeOf(map[string]any{"status": map[string]any{"Seccomp": "2"}, "uid": 65600}); err != nil {
		t.Error(err)
	}
	for _, data := range []any{nil, "text", 7.0, map[string]any{}, map[string]any{"status": "x"}, map[string]any{"uid": 1.5}, []any{1}} {
		if _, err := probeOf(data); err == nil {
			t.Errorf("%v was taken for what a cell sees", data)
		}
	}
}
