package integration

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/doctor"
	owners "github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// examined runs `hotcell doctor --json` and returns its report.
func examined(t *testing.T, bin string, args ...string) (doctor.Report, int) {
	t.Helper()
	r := command(t, bin, "", append([]string{"doctor", "--json"}, args...)...)
	if r.Stderr != "" {
		t.Errorf("stderr: %s", r.Stderr)
	}
	var report doctor.Report
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, r.Stdout)
	}
	return report, r.Exit
}

// On this engine every control holds, as a cell has seen itself, and the cell is gone.
func TestDoctor(t *testing.T) {
	report, exit := examined(t, binary(t))
	if exit != 0 || !report.OK {
		t.Errorf("exit %d", exit)
	}
	for _, c := range report.Checks {
		if c.Level == doctor.Fail {
			t.Errorf("%s: %s", c.ID, c.Found)
		}
	}
	for _, id := range []string{"engine", "api", "platform", "seccomp", "kernel", "images", "cell", "cell-user", "cell-seccomp", "cell-files", "cell-network", "cell-limits", "cell-calls", "logs", "controls"} {
		if c := report.Check(id); c == nil || c.Level != doctor.OK {
			t.Errorf("%s: %+v", id, c)
		}
	}
	for _, l := range listed() {
		if l.Labels[sandbox.LabelSkill] == "doctor-probe" {
			t.Errorf("left behind: %+v", l)
		}
	}
}

// Of the data folder's supervisors it tells who lives, who is dead, and whose cells would not die.
func TestDoctorTellsOwners(t *testing.T) {
	bin := binary(t)
	data := t.TempDir()
	dir := filepath.Join(data, "instances")
	alive, err := owners.Open(dir, "livingone")
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	dead, err := owners.Open(dir, "deadone")
	if err == nil {
		err = errors.Join(dead.Poisoned([]string{"skill-deadone-1"}), dead.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	report, exit := examined(t, bin, "--data-dir", data)
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
	if c := report.Check("supervisors"); c.Level != doctor.OK || !strings.HasPrefix(c.Found, "1 alive, 1 dead") {
		t.Errorf("%+v", c)
	}
	if c := report.Check("poisoned"); c.Level != doctor.Warn || !strings.Contains(c.Found, "skill-deadone-1 (of deadone, dead)") {
		t.Errorf("%+v", c)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("its own file is left: %v", entries)
	}
}

func TestDoctorWithoutAnEngine(t *testing.T) {
	bin := binary(t)
	for _, host := range []string{"unix:///nowhere/docker.sock", "tcp://127.0.0.1:1", "ssh://x", "nonsense"} {
		t.Setenv("DOCKER_HOST", host)
		report, exit := examined(t, bin)
		if c := report.Check("engine"); exit != 1 || report.OK || c.Level != doctor.Fail || c.Hint == "" {
			t.Errorf("%s: exit %d, %+v", host, exit, c)
		}
		if c := report.Check("memory"); c.Level != doctor.Skip {
			t.Errorf("%s: %+v", host, c)
		}
	}
}

// What no cell can have is found before a skill meets it.
func TestDoctorOfAWrongRuntime(t *testing.T) {
	bin := binary(t)
	t.Setenv("HOTCELL__SANDBOX__RUNTIME", "no-such-runtime")
	report, exit := examined(t, bin)
	for id, word := range map[string]string{"runtime": "no-such-runtime", "cell": "no-such-runtime"} {
		if c := report.Check(id); c.Level != doctor.Fail || !strings.Contains(c.Found, word) {
			t.Errorf("%+v", c)
		}
	}
	if exit != 1 {
		t.Errorf("exit %d", exit)
	}
}

// The same program says of a process that is not in a cell how little confines it.
func TestAProbeOutsideOfACellFails(t *testing.T) {
	testutil.Require(t, "linux")
	runner := testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner")
	out, err := exec.Command(runner, wall.ProbeFlag).Output()
	if err != nil {
		t.Fatal(err)
	}
	probe := new(wall.Probe)
	if err := json.Unmarshal(out, probe); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	report := doctor.Examine(doctor.Facts{
		Settings: doctor.Settings{MinUID: 65600, MaxUID: 66599}, Engine: &sandbox.EngineFacts{},
		Cell: doctor.Cell{Probe: probe, Want: doctor.Limits{Memory: 64 << 20, PIDs: 48, CPU: 500, Files: 128}},
	})
	for _, id := range []string{"cell-user", "cell-files", "cell-limits", "cell-calls", "controls"} {
		if c := report.Check(id); c.Level != doctor.Fail {
			t.Errorf("%+v", c)
		}
	}
}

// An engine that makes no cells costs doctor no half a minute, and it says what hangs.
func TestDoctorOfAnEngineThatHangs(t *testing.T) {
	bin := binary(t)
	proxy := engineproxy.New(t, "")
	t.Setenv("DOCKER_HOST", proxy.Host())
	proxy.Inject(engineproxy.Rule{Method: "GET", Path: "/info", Fault: engineproxy.Fault{Silent: true}})
	report, exit := examined(t, bin) // which gives up after a minute
	if c := report.Check("engine"); exit != 1 || c.Level != doctor.Fail || !strings.Contains(c.Hint, "hangs") {
		t.Errorf("exit %d, %+v", exit, c)
	}
}

// What an engine says about itself does not steer a terminal.
func TestDoctorOfAnEngineThatLies(t *testing.T) {
	bin := binary(t)
	proxy := engineproxy.New(t, "")
	t.Setenv("DOCKER_HOST", proxy.Host())
	evil := regexp.MustCompile(`"(ServerVersion|OperatingSystem|KernelVersion|LoggingDriver)":"`)
	proxy.Inject(engineproxy.Rule{Method: "GET", Path: "/info", Fault: engineproxy.Fault{Edit: func(b []byte) []byte {
		return evil.ReplaceAll(b, []byte(`"$1":"\u001b]0;x\u0007\u001b[2J\r\n✗ evil\u202e`))
	}}})
	r := command(t, bin, "", "doctor")
	if strings.ContainsAny(r.Stdout, "\x1b\x07\r\u202e") || strings.Contains(r.Stdout, "\n✗ evil") || !strings.Contains(r.Stdout, "evil") {
		t.Errorf("exit %d: %q", r.Exit, r.Stdout)
	}
}
