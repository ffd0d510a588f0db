package kubernetes

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
)

// The images of these tests. The nodes keep them.
const (
	hotcellRef = "docker.io/hotcell-test/hotcell:deploy"
	runnerRef  = "docker.io/hotcell-test/hotcell-runner:deploy"
)

// load gives the cluster hotcell's own image, as deploy/docker makes it, and the runner's.
func load(t *testing.T) {
	t.Helper()
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	bin := testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell", "CGO_ENABLED=0")
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own, err := os.Create(filepath.Join(dir, "hotcell.tar"))
	if err != nil {
		t.Fatal(err)
	}
	img := images.Layered{
		Ref: hotcellRef, Arch: runtime.GOARCH, Config: map[string]any{"Entrypoint": []string{"/hotcell"}},
		Files: []images.LayerFile{{Name: "hotcell", Mode: 0o755, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(bin) }}},
	}
	if _, err := img.Write(own); err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	testutil.KubeLoad(t, own.Name())
	runner := filepath.Join(dir, "runner.tar")
	if out, err := exec.Command(bin, "images", "runner", "--ref", runnerRef, runner).CombinedOutput(); err != nil {
		t.Fatalf("images runner: %v\n%s", err, out)
	}
	testutil.KubeLoad(t, runner)
}

// What deploy/kubernetes installs becomes ready, which means that its canary is a pod that lived and died, with no right but those that
// it is given; it makes tokens, and it ends when it is told to. Where nobody says what the network does, it says so and makes no cell.
func TestTheDeploymentServes(t *testing.T) {
	for _, known := range []bool{false, true} {
		name, pairs := "unknown network", []string(nil)
		if known {
			name, pairs = "serves", []string{"network_policy: unknown", "network_policy: enforced"}
		}
		t.Run(name, func(t *testing.T) {
			testutil.Require(t, "kubernetes")
			testutil.Require(t, "go")
			load(t)
			in := install(t, append(pairs,
				"example.org/hotcell-runner:local", runnerRef, "example.org/hotcell:local", hotcellRef,
				"persistentVolumeClaim:\n          claimName: hotcell", "emptyDir: {}", // not every cluster has storage
			)...)
			if !known {
				in.says(t, "a pod cannot enforce network")
				return
			}
			in.serves(t)
		})
	}
}

// says waits until hotcell's log says something.
func (in *installed) says(t *testing.T, what string) {
	t.Helper()
	testutil.Poll(t, 2*time.Minute, func() bool {
		out, _ := exec.Command("kubectl", "logs", "-n", in.system, "deploy/hotcell").CombinedOutput()
		return strings.Contains(string(out), what)
	})
}

func (in *installed) serves(t *testing.T) {
	t.Helper()
	out, err := exec.Command("kubectl", "rollout", "status", "-n", in.system, "deploy/hotcell", "--timeout=150s").CombinedOutput()
	if err != nil {
		t.Fatalf("it is not ready: %s\n%s\n%s", out, testutil.Kubectl(t, "", "describe", "pods", "-n", in.system),
			testutil.Kubectl(t, "", "logs", "-n", in.system, "deploy/hotcell"))
	}
	token := testutil.Kubectl(t, "", "exec", "-n", in.system, "deploy/hotcell", "--", "/hotcell", "tokens", "create", "--principal", "alice")
	if !strings.Contains(token, "hct_") {
		t.Errorf("no token: %s", token)
	}
	testutil.Kubectl(t, "", "scale", "-n", in.system, "deploy/hotcell", "--replicas=0")
	testutil.Kubectl(t, "", "wait", "-n", in.system, "--for=delete", "pod", "-l", "app=hotcell", "--timeout=120s")
	left := testutil.Kubectl(t, "", "get", "pods", "-n", in.cells, "-o", "name")
	if strings.TrimSpace(left) != "" {
		t.Errorf("it has ended and left cells: %s", left)
	}
}
