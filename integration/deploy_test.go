package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// dockerSays runs a command of the engine's and returns what it says.
func dockerSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// list reads a list in one line of the compose file.
func list(t *testing.T, compose, key string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ +` + key + `: \[(.*)\]$`).FindStringSubmatch(compose)
	if m == nil {
		t.Fatalf("the compose file has no %s", key)
	}
	return strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", ")
}

// The image of deploy/ is built from an empty one, serves with no more rights than the compose file gives it, makes cells,
// and stops when it is told to.
func TestTheImageServes(t *testing.T) {
	bin := binary(t)
	tag := fmt.Sprintf("hotcell-test/deploy:%d", os.Getpid())
	dir := t.TempDir()
	if err := os.Link(bin, filepath.Join(dir, "hotcell")); err != nil {
		text, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hotcell"), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dockerSays(t, "build", "-q", "-f", "../deploy/docker/Dockerfile", "-t", tag, dir)
	t.Cleanup(func() { dockerSays(t, "image", "rm", "-f", tag) })
	file, err := os.ReadFile("../deploy/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	compose, address := string(file), freeAddress(t)
	args := []string{"run", "-d", "--network=host", "--pid=host", "--read-only", "-e", "HOTCELL__LISTEN=" + address,
		"-v", "/var/run/docker.sock:/var/run/docker.sock", "-v", "/run/lock:/run/lock"}
	for key, flag := range map[string]string{"cap_drop": "--cap-drop", "cap_add": "--cap-add", "tmpfs": "--tmpfs", "security_opt": "--security-opt"} {
		for _, v := range list(t, compose, key) {
			args = append(args, flag, v)
		}
	}
	id := dockerSays(t, append(args, tag)...)
	t.Cleanup(func() { dockerSays(t, "rm", "-f", "-v", id) })
	var ready bytes.Buffer
	testutil.Poll(t, time.Minute, func() bool {
		ready.Reset()
		cmd := exec.Command("docker", "exec", id, "/hotcell", "version")
		cmd.Stdout, cmd.Stderr = &ready, &ready
		return cmd.Run() == nil
	})
	testutil.Poll(t, time.Minute, func() bool {
		return strings.Contains(dockerSays(t, "logs", id), "ready: http://"+address)
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, "http://"+address+"/readyz"), `"ready"`) })
	dockerSays(t, "stop", "--time=60", id)
	if code := dockerSays(t, "inspect", "--format={{.State.ExitCode}}", id); code != "0" {
		t.Errorf("it ended with %s: %s", code, dockerSays(t, "logs", id))
	}
}

// The compose file has no key that Debian's docker-compose, which is an old one, refuses.
func TestTheComposeFileIsForOldOnesToo(t *testing.T) {
	file, err := os.ReadFile("../deploy/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(string(file), -1) {
		keys = append(keys, m[1])
	}
	if got := strings.Join(keys, " "); got != "services volumes" {
		t.Errorf("keys %s", got)
	}
}

// systemd takes the unit, and finds little that it could still shut off.
func TestTheUnit(t *testing.T) {
	testutil.Require(t, "systemd-analyze")
	unit, err := os.ReadFile("../deploy/systemd/hotcell.service")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hotcell.service")
	text := strings.Replace(string(unit), "/usr/local/bin/hotcell serve", "/bin/true serve", 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=40", path).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
