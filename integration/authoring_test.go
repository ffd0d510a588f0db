package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

// block is a piece of a page: commands, and what they are said to print; "" where nothing is said.
type block struct{ commands, prints string }

// blocks finds the commands between fences of the kind sh, and the indented lines that follow a fence.
func blocks(page string) []block {
	var all []block
	for _, part := range strings.Split(page, "\n```sh\n")[1:] {
		commands, rest, _ := strings.Cut(part, "\n```\n")
		b := block{commands: commands}
		for line := range strings.Lines(strings.TrimLeft(rest, "\n")) {
			text, ok := strings.CutPrefix(line, "    ")
			if !ok {
				break
			}
			b.prints += text
		}
		all = append(all, b)
	}
	return all
}

// What differs from run to run: how long it took, what time it is, in what pieces a model's text arrives, where the model is and
// when it says so.
var (
	took    = regexp.MustCompile(` \([0-9.]+ m?s\)`)
	at      = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:+]+ \(\w+\)`)
	recited = regexp.MustCompile(`(?m)^ *status +(Here|is a|\{"lines|\["Rain).*\n`)
	address = regexp.MustCompile(`(?m)^ *OPENAI_BASE_URL=.*\n`)
)

func steady(text string) string {
	text = recited.ReplaceAllString(at.ReplaceAllString(took.ReplaceAllString(address.ReplaceAllString(text, ""), ""), "TIME"), "")
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// The page about writing skills does what it says: its commands print what stands below them.
func TestAuthoringPage(t *testing.T) {
	for _, part := range []string{"image-word-count", "python3"} {
		testutil.Require(t, part)
	}
	page, err := os.ReadFile("../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newReader(t)
	all := blocks(string(page))
	if len(all) < 9 {
		t.Fatalf("found %d blocks of commands", len(all))
	}
	for _, one := range all {
		got, err := b.run(t, one.commands)
		switch {
		case one.prints == "" && err != nil:
			t.Errorf("%s\n%s%v", one.commands, got, err)
		case one.prints != "":
			if diff := cmp.Diff(steady(one.prints), steady(got)); diff != "" {
				t.Errorf("%s\n(-page +printed):\n%s", one.commands, diff)
			}
		}
	}
}

// reader is somebody who follows a page in an empty folder.
type reader struct {
	dir   string
	env   []string
	place *strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{dir: t.TempDir()}
	source, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t), filepath.Join(r.dir, "bin", "hotcell")); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close() // the recital takes it
	listens := "until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", " + port + "))' 2>/dev/null; do sleep 0.1; done"
	r.place = strings.NewReplacer("make image\n", "", "docs/examples", source+"/docs/examples", "integration/skills", source+"/integration/skills",
		"9999 &", port+" & "+listens, ":9999", ":"+port)
	r.env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "OPENAI_") || strings.HasPrefix(kv, "PATH=") })
	r.env = append(r.env, fmt.Sprintf("PATH=%s/bin:%s", r.dir, os.Getenv("PATH")), "HOTCELL__DATA_DIR="+filepath.Join(r.dir, "data"))
	return r
}

// run runs commands in a process group, which ends with the test, and returns what they printed.
func (r *reader) run(t *testing.T, commands string) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", r.place.Replace(commands))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // the recital, where it was started
	failure := cmd.Wait()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failure
}
