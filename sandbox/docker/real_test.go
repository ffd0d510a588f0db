package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

const testProgram = "../sandboxtest/testdata/program"

// real is a driver on a real engine, with an image that holds the suite's program and is hostile in what an image may say.
type real struct {
	*Driver
	image   sandbox.Image
	runtime string // "" for the engine's default
}

func newReal(t testing.TB) *real {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "go")
	return &real{Driver: open(t, Options{Instance: "test-" + strings.ToLower(t.Name())}), image: importImage(t)}
}

func open(t testing.TB, o Options) *Driver {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// importImage makes the test image and removes it, and what volumes came from it, when the test ends.
func importImage(t testing.TB) sandbox.Image {
	t.Helper()
	cl := mustClient(t)
	ref := fmt.Sprintf("hotcell-test/docker-%d:%d", os.Getpid(), time.Now().UnixNano())
	body, err := cl.ImageImport(t.Context(), image.ImportSource{Source: imageTar(t), SourceName: "-"}, ref, image.ImportOptions{
		Changes: []string{
			"ENV FROM_IMAGE=1 PATH=/elsewhere LD_PRELOAD=/evil.so", "VOLUME /data", "WORKDIR /nowhere", "USER root",
			"ENTRYPOINT [\"/bin/evil\"]", "CMD [\"evil\"]", "HEALTHCHECK --interval=1s CMD /bin/evil",
			"LABEL hotcell-test=1 hotcell.expires=1 hotcell.call=image",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	_ = body.Close()
	info, err := cl.ImageInspect(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := cl.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}); err != nil {
			t.Errorf("remove image: %v", err)
		}
	})
	return sandbox.Image{ID: info.ID, Env: info.Config.Env, Volumes: []string{"/data"}}
}

func imageTar(t testing.TB) io.Reader {
	t.Helper()
	program, err := os.ReadFile(testutil.GoBuild(t, testProgram))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"bin/program", 0o755, program},
		{"bin/not-executable", 0o644, []byte("x")},
		{"data/from-image", 0o644, []byte("x")},
		{"scratch/", 0o755, nil},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

// spec is one whose image's VOLUME is masked.
func (r *real) spec(program string, args ...string) *sandbox.Spec {
	spec := sandboxtest.NewSpec(append([]string{"/bin/program", program}, args...)...)
	spec.Image = sandbox.Image{ID: r.image.ID, Env: append([]string(nil), r.image.Env...), Volumes: r.image.Volumes}
	spec.Runtime = r.runtime
	mask := spec.OCI.Mounts[0]
	mask.Destination = "/data"
	spec.OCI.Mounts = append(spec.OCI.Mounts, mask)
	return spec
}

// dropVolumes removes the volumes of a tree when the test ends.
func (r *real) dropVolumes(t testing.TB, prefix string) {
	t.Cleanup(func() {
		all, err := r.List(context.Background())
		if err != nil {
			t.Error(err)
		}
		for _, l := range all {
			if l.Kind == kindVolume && strings.HasPrefix(l.Name, prefix) {
				if err := r.Remove(context.Background(), l.ID); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestEngine runs all that needs a real engine, with one image.
func TestEngine(t *testing.T) {
	r := newReal(t)
	for name, test := range map[string]func(*testing.T){
		"EarlyOutput": r.earlyOutput, "HostileImage": r.hostileImage, "ForeignContainer": r.foreignContainer,
		"NotExecutable": r.notExecutable, "UnknownRuntime": r.unknownRuntime, "StuckOutput": r.stuckOutput,
		"TreeModes": r.treeModes, "TreeEmpty": r.treeEmpty, "TreeRefused": r.treeRefused, "TreeFilledOnce": r.treeFilledOnce,
		"TreeVanishes": r.treeVanishes, "TreeStaleLock": r.treeStaleLock, "RemoveFill": r.removeFill,
		"RemoveVolumeInUse": r.removeVolumeInUse, "CloseEndsFills": r.closeEndsFills,
		"CloseWaitsForFills": r.closeWaitsForFills, "LateFill": r.lateFill, "Witness": r.witness,
		"StartOutOfMemory": r.startOutOfMemory,
		"Shortcut":         r.shortcut, "ShortcutTakes": r.shortcutTakes, "ShortcutDead": r.shortcutDead,
		"ShortcutCloses": r.shortcutCloses, "ShortcutNone": r.shortcutNone,
		"KillWithoutEngine": r.killWithoutEngine, "LeftGroup": r.leftGroup, "Conformance": r.conformance,
	} {
		t.Run(name, test)
	}
}

func (r *real) conformance(t *testing.T) {
	r.dropVolumes(t, "hotcell-test-")
	sandboxtest.Run(t, sandboxtest.Options{
		New: func(t *testing.T) sandbox.Driver { return openPlain(t, Options{Instance: "test"}) },
		Spec: func(t *testing.T, program string, args ...string) *sandbox.Spec {
			return r.spec(program, args...)
		},
		Has: func(string) bool { return true },
		Cut: func(t *testing.T) sandbox.Driver { return cutting(t, 100_000) },
	})
}

func mustClient(t testing.TB) *client.Client {
	t.Helper()
	conn, err := connect("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.client.Close() })
	return conn.client.Client
}

// openPlain leaves closing to the suite.
func openPlain(t *testing.T, o Options) *Driver {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cutting is a driver whose connections go through a proxy that breaks an attached stream off after some bytes.
func cutting(t *testing.T, after int64) *Driver {
	t.Helper()
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	network, addr, _ := strings.Cut(host, "://")
	socket := filepath.Join(t.TempDir(), "proxy.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { forward(t, client, network, addr, after) })
		}
	})
	return openPlain(t, Options{Host: "unix://" + socket, Instance: "test"})
}

func forward(t *testing.T, client net.Conn, network, addr string, after int64) {
	defer client.Close()
	engine, err := net.Dial(network, addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer engine.Close()
	first := make([]byte, 4096)
	n, err := client.Read(first)
	if err != nil {
		return
	}
	if _, err := engine.Write(first[:n]); err != nil {
		return
	}
	if !bytes.Contains(first[:n], []byte("/attach")) {
		after = 1 << 40
	}
	var up sync.WaitGroup
	up.Go(func() { _, _ = io.Copy(engine, client); _ = engine.(*net.UnixConn).CloseWrite() })
	_, _ = io.CopyN(client, engine, after)
	_ = client.Close()
	_ = engine.Close()
	up.Wait()
}
