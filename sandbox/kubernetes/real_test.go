package kubernetes

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

const testProgram = "../sandboxtest/testdata/program"

// real makes drivers on a real cluster, in a namespace of its own that wants pods to be restricted.
type real struct {
	namespace string
	runner    string // the runner's image
	image     sandbox.Image
}

func newReal(t testing.TB) *real {
	t.Helper()
	testutil.Require(t, "kubernetes")
	testutil.Require(t, "go")
	r := &real{namespace: "hotcell-test-" + strings.ToLower(rand.Text()[:10])}
	tag := strings.ToLower(rand.Text()[:10]) // or another test at the same time would change what the name stands for
	r.runner = "docker.io/hotcell-test/runner:" + tag
	programRef := "docker.io/hotcell-test/program:" + tag
	loadImage(t, images.Layered{Ref: r.runner, Files: []images.LayerFile{file(t, "hotcell-runner", testutil.GoBuild(t, "../../cmd/hotcell-runner"))}})
	id := loadImage(t, images.Layered{
		Ref:   programRef,
		Files: []images.LayerFile{file(t, "bin/program", testutil.GoBuild(t, testProgram))},
		Config: map[string]any{
			"Env": []string{"FROM_IMAGE=1", "PATH=/elsewhere", "LD_PRELOAD=/evil.so"}, "Volumes": map[string]any{"/data": map[string]any{}},
			"WorkingDir": "/nowhere", "User": "root", "Entrypoint": []string{"/bin/evil"}, "Cmd": []string{"evil"},
		},
	})
	r.image = sandbox.Image{ID: id, Ref: programRef, Volumes: []string{"/data"}}
	testutil.Kubectl(t, "", "create", "namespace", r.namespace)
	testutil.Kubectl(t, "", "label", "namespace", r.namespace, "pod-security.kubernetes.io/enforce=restricted")
	t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "namespace", r.namespace, "--wait=false") })
	return r
}

func file(t testing.TB, name, path string) images.LayerFile {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return images.LayerFile{Name: name, Mode: 0o755, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

func loadImage(t testing.TB, l images.Layered) string {
	t.Helper()
	l.Arch = runtime.GOARCH
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Write(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	testutil.KubeLoad(t, path)
	return id
}

// options accept what this cluster cannot do.
func (r *real) options() Options {
	o := Options{
		Namespace: r.namespace, RunnerImage: r.runner, Instance: "test-" + strings.ToLower(rand.Text()[:8]),
		Accept:   []string{ControlSeccomp, ControlNetwork, ControlPaths, ControlMounts},
		Timeouts: Timeouts{Schedule: patience, Ready: patience, Attach: time.Minute}, // others may be using it
	}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return o
}

// open makes a driver that the caller closes.
func (r *real) open(t testing.TB, o Options) *Driver {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (r *real) driver(t testing.TB) *Driver { return r.driverOf(t, r.options()) }

// driverOf makes a driver that is closed after all that was made with it is destroyed.
func (r *real) driverOf(t testing.TB, o Options) *Driver {
	t.Helper()
	d := r.open(t, o)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// spec is one whose image's VOLUME is masked.
func (r *real) spec(program string, args ...string) *sandbox.Spec {
	spec := sandboxtest.NewSpec(append([]string{"/bin/program", program}, args...)...)
	spec.Image = r.image
	*spec.OCI.Linux.Resources.CPU.Quota = 10_000 // what a cell may have is set aside for it, and a node has little
	mask := spec.OCI.Mounts[0]
	mask.Destination = "/data"
	spec.OCI.Mounts = append(spec.OCI.Mounts, mask)
	return spec
}

// TestCluster runs all that needs a real cluster, in one namespace.
func TestCluster(t *testing.T) {
	r := newReal(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Conformance", func(t *testing.T) { r.conformance(t, r.spec) }},
		{"Direct", r.direct},
		{"NoImage", r.noImage},
		{"Unplaced", r.unplaced},
		{"Quota", r.quota},
		{"DeletedByHand", r.deletedByHand},
		{"DeletedAtBirth", r.deletedAtBirth},
		{"Evicted", r.evicted},
		{"TooMuchDisk", r.tooMuchDisk},
		{"ServerAway", r.serverAway},
		{"OwnerGone", r.ownerGone},
		{"Owners", r.owners},
		{"TreesInUse", r.treesInUse},
		{"Planted", r.planted},
		{"LeastRights", r.leastRights},
		{"OtherRunner", r.otherRunner},
		{"Secrecy", r.secrecy},
		{"Limits", r.limits},
		{"Trees", r.largeTrees},
		{"OverSPDY", r.overSPDY},
		{"TooMuch", r.tooMuch},
		{"Soak", r.soak},
	} {
		t.Run(tt.name, tt.test)
	}
}

func (r *real) conformance(t *testing.T, made func(program string, args ...string) *sandbox.Spec) {
	sandboxtest.Run(t, sandboxtest.Options{
		New:  func(t *testing.T) sandbox.Driver { return r.open(t, r.options()) },
		Spec: func(_ *testing.T, program string, args ...string) *sandbox.Spec { return made(program, args...) },
		Has:  func(string) bool { return true },
		Cut: func(t *testing.T) sandbox.Driver {
			o := r.options()
			o.tune = cutting(t, 400_000)
			return r.open(t, o)
		},
		Differs: differs,
		Within:  patience,
	})
}

// cutting has a driver speak through a proxy on whose connections so many bytes come and no more.
func cutting(t *testing.T, after int64) func(*rest.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return func(config *rest.Config) {
		server, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		config.TLSClientConfig.ServerName = server.Hostname()
		config.Host = "https://" + l.Addr().String()
		work.Go(func() {
			for {
				client, err := l.Accept()
				if err != nil {
					return
				}
				work.Go(func() { forward(client, server.Host, after) })
			}
		})
	}
}

func forward(client net.Conn, addr string, after int64) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	var up sync.WaitGroup
	up.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	_, _ = io.CopyN(client, server, after)
	_ = client.Close()
	_ = server.Close()
	up.Wait()
}
