package kubernetes

import (
	"crypto/rand"
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

// built are hotcell as people run it, and the images that a cluster's nodes have of it.
type built struct {
	bin             string
	hotcell, runner string // references, of this test alone
}

// build builds hotcell, and gives the cluster the runner's image.
func build(t *testing.T) *built {
	t.Helper()
	testutil.Require(t, "kubernetes")
	testutil.Require(t, "go")
	if programs, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(programs) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	mark := strings.ToLower(rand.Text()[:8]) // or another test at the same time would change what the name stands for
	b := &built{
		bin:     testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell", "CGO_ENABLED=0"),
		hotcell: "docker.io/hotcell-test/hotcell:" + mark, runner: "docker.io/hotcell-test/hotcell-runner:" + mark,
	}
	archive := filepath.Join(t.TempDir(), "runner.tar")
	if out, err := exec.Command(b.bin, "images", "runner", "--ref", b.runner, archive).CombinedOutput(); err != nil {
		t.Fatalf("images runner: %v\n%s", err, out)
	}
	testutil.KubeLoad(t, archive)
	return b
}

// ship gives the cluster hotcell's own image, as deploy/docker makes it, with further files in it.
func (b *built) ship(t *testing.T, files ...images.LayerFile) {
	t.Helper()
	info, err := os.Stat(b.bin)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Create(filepath.Join(t.TempDir(), "hotcell.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, images.LayerFile{Name: "hotcell", Mode: 0o755, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(b.bin) }})
	img := images.Layered{Ref: b.hotcell, Arch: runtime.GOARCH, Config: map[string]any{"Entrypoint": []string{"/hotcell"}}, Files: files}
	if _, err := img.Write(own); err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	testutil.KubeLoad(t, own.Name())
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
			b := build(t)
			b.ship(t)
			in := install(t, append(pairs,
				"example.org/hotcell-runner:local", b.runner, "example.org/hotcell:local", b.hotcell,
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
	in.rolledOut(t)
	token := testutil.Kubectl(t, "", "exec", "-n", in.system, "deploy/hotcell", "--", "/hotcell", "tokens", "create", "--principal", "alice")
	if !strings.Contains(token, "hct_") {
		t.Errorf("no token: %s", token)
	}
	in.ends(t)
}
