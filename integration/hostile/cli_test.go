package hostile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"golang.org/x/sys/unix"
)

// steering is a text that sets a terminal's title, clears it, moves in it, changes its colours in both forms, writes
// backwards and hides; all that should be left of it is "begin" and "end".
const steering = "begin\x1b]0;title\x07\x1b]8;;http://x\x1b\\\x1b[2J\x1b[31m\u009b32m\u009d0;t\u009c\x1bc\u202e\u2066\r\b\x7f\x00\x0e\ufeff\u200bend"

// steeringFrames say it in every text that a skill has.
func steeringFrames() []string {
	quote := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	s := quote(steering)
	return []string{
		"plain " + strings.Map(func(r rune) rune {
			if r == 0 || r == '\n' {
				return -1 // an argument of a program holds no NUL, and a line no line feed
			}
			return r
		}, steering),
		`{"type":"skill/event","kind":"log","data":{"level":"error","message":` + s + `}}`,
		`{"type":"skill/event","kind":"log","data":{"level":` + s + `,"message":` + s + `,` + s + `:1}}`,
		`{"type":"skill/event","kind":"progress","data":{"pct":50,"message":` + s + `}}`,
		`{"type":"skill/event","kind":"status","data":{"message":` + s + `}}`,
		`{"type":"skill/event","kind":` + quote("k"+steering[5:20]) + `,"data":{"message":` + s + `}}`,
		`{"type":"skill/event","kind":"artifact","data":{"name":` + s + `,"mime":` + s + `,"chunk":"aGk=","final":true}}`,
		"2:" + "\x1b[2Jto stderr\x1b]0;t\x07",
	}
}

// run runs the product in a folder of its own, its outputs on a terminal or not.
func (c *cli) run(t *testing.T, terminal bool, args ...string) (output string, exit int) {
	t.Helper()
	cmd := exec.Command(c.program, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HOTCELL_SKILLS="+c.skills, "HOTCELL__DATA_DIR="+filepath.Join(c.dir, "data"), "NO_COLOR=1", "TERM=dumb")
	kill := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var err error
	if terminal {
		output, err = onTerminal(t, cmd)
	} else {
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		err = cmd.Run()
		output = b.String()
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return output, cmd.ProcessState.ExitCode()
}

// onTerminal runs a command with a pseudo-terminal for all its streams and returns what the terminal got.
func onTerminal(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	far, _, errno := unix.Syscall(unix.SYS_IOCTL, near.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	if errno != 0 {
		t.Fatal(errno)
	}
	tty := os.NewFile(far, "tty")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	err = cmd.Start()
	_ = tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(near) // ends with EIO when nobody has the other end open
	return string(b), cmd.Wait()
}

// cli is the product with a folder of skills.
type cli struct {
	program, skills, dir string
	row                  row
}

func newCLI(t *testing.T) *cli {
	r := row{name: "frames", args: []string{"frames"}}
	return &cli{program: product(t), skills: folderOf(t, []row{r}), dir: t.TempDir(), row: r}
}

// frames are the arguments that let the skill print lines.
func (c *cli) frames(lines ...string) []string {
	b, err := json.Marshal(map[string]any{"do": append([]string{"frames"}, lines...)})
	if err != nil {
		panic(err)
	}
	return []string{"run", c.row.skill(), "--args", string(b)}
}

// steers finds what could steer a terminal.
func steers(text string) (bad []rune) {
	for _, r := range text {
		switch {
		case r == '\n', r == '\r', r == '\t':
		case r < ' ', r >= 0x7f && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff, r == 0x200b:
			bad = append(bad, r)
		}
	}
	return bad
}

// Whatever text a skill gives, and however the call is looked at, the terminal is not steered and the words are readable.
func TestNoTextSteersATerminal(t *testing.T) {
	testutil.Require(t, "linux")
	c := newCLI(t)
	s, _ := json.Marshal(steering)
	endings := map[string][]string{
		"success":    {`{"type":"skill/result","success":true,"data":` + string(s) + `,"summary":` + string(s) + `}`},
		"object":     {`{"type":"skill/result","success":true,"data":{` + string(s) + `:[` + string(s) + `]}}`},
		"failure":    {`{"type":"skill/result","success":false,"error":` + string(s) + `,"error_code":` + string(s) + `}`},
		"bad result": {`{"type":"skill/result","success":` + string(s) + `}`},
		"exit":       {"exit:3"},
		"plain":      nil,
	}
	for name, last := range endings {
		t.Run(name, func(t *testing.T) {
			args := c.frames(append(steeringFrames(), last...)...)
			for _, asJSON := range []bool{false, true} {
				if asJSON {
					args = append(args, "--json")
				}
				out, _ := c.run(t, true, args...)
				if bad := steers(out); len(bad) > 0 {
					t.Errorf("--json %v: the terminal got %q in %q", asJSON, bad, out)
				}
				if n := strings.Count(out, "begin"); n < 4 || strings.Contains(out, "goroutine") {
					t.Errorf("--json %v: the texts are lost: %q", asJSON, out)
				}
			}
		})
	}
}

// Files go below the folder that is given, one each, over nothing that is there, under names that do no harm.
func TestNoArtifactLeavesItsFolder(t *testing.T) {
	c := newCLI(t)
	above := t.TempDir()
	out := filepath.Join(above, "a", "out")
	outside := filepath.Join(above, "outside")
	for _, dir := range []string{out, outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "keep.txt"), []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": outside, "file": filepath.Join(outside, "victim"), "up": ".."} {
		if err := os.Symlink(target, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for _, name := range []string{
		"../escape", "../../escape", "/etc/escape", `..\..\escape`, "a/../../../escape", "link/escape", "up/escape", "file", "keep.txt", "./keep.txt",
		"new\nline", "\x1b[2J", "-rf", ".bashrc", "~/.ssh/authorized_keys", "good.txt", "good.txt/under", "deep/" + strings.Repeat("d/", 100) + "x", strings.Repeat("n", 255), "\u202etxt", "con", "",
	} {
		b, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, `{"type":"skill/event","kind":"artifact","data":{"name":`+string(b)+`,"chunk":"aGk=","final":true}}`)
	}
	lines = append(lines, forgedArtifacts()...)
	said, exit := c.run(t, false, append(c.frames(lines...), "--out", out)...)
	if exit == 0 || !strings.Contains(said, "keep.txt") || len(steers(said)) > 0 {
		t.Errorf("exit %d: %s", exit, said)
	}
	var found []string
	err := filepath.WalkDir(above, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(above, path)
		found = append(found, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		inside := strings.HasPrefix(path, "a/out/")
		hidden := strings.HasPrefix(filepath.Base(path), ".") || strings.HasPrefix(filepath.Base(path), "-")
		if !inside || hidden || len(steers(path)) > 0 || strings.ContainsAny(path, "\n\r\\") {
			t.Errorf("there is a file %q", path)
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "keep.txt")); string(b) != "kept" {
		t.Errorf("keep.txt is %q, %v", b, err)
	}
	if !slices.Contains(found, "a/out/good.txt") || !slices.Contains(found, "a/out/etc/passwd") {
		t.Errorf("the files that are in order are not there: %q", found)
	}
	if _, err := os.Stat("/etc/escape"); err == nil {
		t.Error("/etc/escape was written")
	}
	if _, err := os.Stat(filepath.Join(out, "gone")); err == nil {
		t.Error("a file is there that was never completed")
	}
	if b, err := os.ReadFile(filepath.Join(out, "halves")); string(b) != "hia" {
		t.Errorf("halves is %q, %v", b, err)
	}
}
