package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/skills"
)

// The environment by which a test starts itself once more, to be killed.
const (
	envDir  = "HOTCELL_TEST_INSTALL_DIR"
	envStep = "HOTCELL_TEST_INSTALL_STEP"
	envTask = "HOTCELL_TEST_INSTALL_TASK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		die(dir, os.Getenv(envTask), os.Getenv(envStep))
	}
	os.Exit(m.Run())
}

// die does a task and kills its process at a step.
func die(dir, task, step string) {
	in := newInstaller(dir, Options{})
	seen := 0
	in.step = func(string) error {
		if seen++; fmt.Sprint(seen) == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	if err := do(in, task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// do does a task: its word, and what it is about.
func do(in *Installer, task string) error {
	what, arg, _ := strings.Cut(task, " ")
	switch what {
	case "install":
		data, err := os.ReadFile(arg)
		if err == nil {
			_, err = in.Install(ctx, "greet", TarGz, bytes.NewReader(data), "")
		}
		return err
	case "rollback":
		_, err := in.Rollback(ctx, "greet", arg, "")
		return err
	}
	return in.Remove(ctx, "greet", "")
}

// tasks are what is interrupted, with what is published before and afterwards.
func tasks(t *testing.T) map[string]struct{ task, before, after string } {
	upload := t.TempDir() + "/upload"
	must(t, os.WriteFile(upload, tarred(t, bundle("greet", "New.")), 0o600))
	return map[string]struct{ task, before, after string }{
		"first":    {"install " + upload, "", "New."},
		"next":     {"install " + upload, "Second.", "New."},
		"rollback": {"rollback v1", "Second.", "First."},
		"remove":   {"remove", "Second.", ""},
	}
}

func prepare(t *testing.T, before string) string {
	t.Helper()
	dir := t.TempDir()
	if before != "" {
		in := opened(t, dir)
		install(t, in, "greet", "First.")
		install(t, in, "greet", before)
	}
	return dir
}

// whole makes sure that one state is there and no mixture: what is published is what the index says, and nothing is left.
func whole(t *testing.T, dir string, states ...string) {
	t.Helper()
	in := opened(t, dir)
	got := about(t, dir, "greet")
	if !strings.Contains(strings.Join(states, "|")+"|", got+"|") {
		t.Errorf("%q is published, want one of %q", got, states)
	}
	list, err := in.Versions(ctx, "greet")
	switch {
	case got == "" && code(err) != "SKILL_NOT_FOUND":
		t.Errorf("nothing is published, but there are versions: %+v %v", list, err)
	case got != "":
		must(t, err)
	}
	for _, v := range list {
		if _, err := os.Stat(in.kept("greet", v.Version)); err != nil || v.Current && v.Digest != in.published("greet") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	entries, err := os.ReadDir(in.versions("greet"))
	if n := len(entries); n != 0 && n != len(list)+1 || err == nil && len(list) == 0 {
		t.Errorf("%d files of %d versions: %v %v", n, len(list), entries, err)
	}
	if l := left(t, dir); l != nil {
		t.Errorf("left: %q", l)
	}
	lib, err := skills.Load([]skills.Source{skills.Dir(skills.SourceInstalled, dir)}, nil)
	must(t, err)
	if s, _ := lib.Find("greet"); got == "" && s != nil || got != "" && (s == nil || s.Status != skills.Published || s.Description != got) {
		t.Errorf("the library has %+v", s)
	}
}

// Killed wherever it may be, a process leaves the old state or the new one; whoever comes next has one of them whole.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for name, tt := range tasks(t) {
		t.Run(name, func(t *testing.T) {
			for step := 1; ; step++ {
				dir := prepare(t, tt.before)
				cmd := exec.Command(self)
				cmd.Env = append(os.Environ(), envDir+"="+dir, envTask+"="+tt.task, fmt.Sprint(envStep, "=", step))
				out, err := cmd.CombinedOutput()
				seen := about(t, dir, "greet") // before anybody mends it
				if seen != tt.before && seen != tt.after {
					t.Errorf("step %d: %q is published", step, seen)
				}
				whole(t, dir, tt.before, tt.after)
				if err == nil {
					if about(t, dir, "greet") != tt.after || step < 3 {
						t.Errorf("done after %d steps, and %q is published", step, about(t, dir, "greet"))
					}
					return
				}
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
					t.Fatalf("step %d: %v\n%s", step, err, out)
				}
			}
		})
	}
}

// A disk that is full, at whatever step, is told, and the old state stays; or the new one is there, and nothing is told.
func TestDiskFull(t *testing.T) {
	for name, tt := range tasks(t) {
		t.Run(name, func(t *testing.T) {
			for step := 1; ; step++ {
				dir := prepare(t, tt.before)
				in, seen := opened(t, dir), 0
				in.step = func(string) error {
					if seen++; seen >= step && seen < step+2 { // it stays full for a while
						return syscall.ENOSPC
					}
					return nil
				}
				err := do(in, tt.task)
				if seen < step {
					return
				}
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("step %d: %v", step, err)
				}
				if published := about(t, dir, "greet"); err != nil && published != tt.before && tt.task != "remove" || err == nil && published != tt.after {
					t.Errorf("step %d: %v, and %q is published", step, err, published)
				}
				in.step = func(string) error { return nil }
				must(t, do(in, tt.task)) // once there is room
				whole(t, dir, tt.after)
			}
		})
	}
}

// What a living process works on stays.
func TestSweepSparesTheLiving(t *testing.T) {
	dir := t.TempDir()
	in := opened(t, dir)
	s, err := in.stage()
	must(t, err)
	must(t, os.Mkdir(dir+"/.staging/dead", 0o700))
	opened(t, dir)
	if l := left(t, dir); len(l) != 1 || l[0] == "dead" {
		t.Errorf("left: %q", l)
	}
	must(t, s.remove())
}

// Where a file system can't exchange two folders at once it takes two steps, and a failure of the second undoes the first.
func TestExchangeInTwoSteps(t *testing.T) {
	dir := t.TempDir()
	for name, about := range map[string]string{"old": "Old.", "stage": "New."} {
		must(t, os.MkdirAll(dir+"/"+name, 0o755))
		must(t, os.WriteFile(dir+"/"+name+"/SKILL.md", []byte(skillText(name, about)), 0o644))
	}
	if err := stepAside(dir+"/old", dir+"/gone"); err == nil || about(t, dir, "old") != "Old." {
		t.Errorf("%v, and %q is there", err, about(t, dir, "old"))
	}
	must(t, stepAside(dir+"/old", dir+"/stage"))
	if about(t, dir, "old") != "New." || about(t, dir, "stage.aside") != "Old." {
		t.Errorf("%q, and aside %q", about(t, dir, "old"), about(t, dir, "stage.aside"))
	}
	must(t, os.RemoveAll(dir+"/old"))
	must(t, os.Rename(dir+"/stage.aside", dir+"/again"))
	must(t, stepAside(dir+"/old", dir+"/again")) // nothing stands in its way
	if about(t, dir, "old") != "Old." {
		t.Errorf("%q", about(t, dir, "old"))
	}
}
