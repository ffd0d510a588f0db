package hostile

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// image is one that means harm.
type image struct {
	name    string
	changes []string    // lines of a Dockerfile
	links   [][2]string // symbolic links: where, and to what
	setuid  bool        // has programs of root's with the set-uid bit
}

// ref is the image's name on the engine, this run's own.
func (i *image) ref() string { return fmt.Sprintf("hotcell-hostile/%s:%d", i.name, os.Getpid()) }

func hostileImages() []image {
	link := func(name string, from, to string) image {
		return image{name: name, links: [][2]string{{from, to}}}
	}
	return []image{
		{name: "plain"},
		{name: "env", changes: []string{
			"ENV LD_PRELOAD=/evil.so LD_LIBRARY_PATH=/evil HOTCELL_REQUEST=/etc/passwd HOTCELL_OUT=/ HOTCELL_EVIL=1 DOCKER_HOST=tcp://192.0.2.1:2375",
			"ENV HOME=/root TMPDIR=/ GODEBUG=inittrace=1 GOTRACEBACK=crash GOMAXPROCS=1000 SKILL_CORRELATION_ID=forged",
		}},
		{name: "config", changes: []string{
			`ENTRYPOINT ["/bin/evil"]`, `CMD ["evil"]`, "USER root", "WORKDIR /proc/self/fd/7", "ONBUILD RUN evil", "EXPOSE 80",
		}},
		{name: "volumes", changes: []string{`VOLUME ["/data", "/home", "/workspace", "/skill"]`}},
		{name: "volume-proc", changes: []string{`VOLUME ["/proc/self"]`}},
		{name: "volume-dots", changes: []string{`VOLUME ["/data/../etc"]`}},
		{name: "volume-above", changes: []string{`VOLUME ["/run"]`}},
		{name: "volume-dev", changes: []string{`VOLUME ["/dev"]`}},
		{name: "health", changes: []string{`HEALTHCHECK --interval=1s --timeout=30s --retries=1 CMD ["/bin/skillbomb", "sleep"]`}},
		{name: "labels", changes: []string{"LABEL hotcell.managed=1 hotcell.instance=other hotcell.expires=1 hotcell.call=other hotcell.kind=volume hotcell.name=x hotcell.lock=y"}},
		{name: "setuid", setuid: true},
		link("link-workspace", "workspace", "/data"),
		link("link-out", "out", "/etc"),
		link("link-run", "run", "/data"),
		link("link-hotcell", "hotcell", "/data"),
		link("link-dev", "dev", "/data"),
		link("link-proc", "proc", "/data"),
		link("link-sys", "sys", "/data"),
	}
}

// load puts the images onto the engine and takes them away at the test's end.
func load(t *testing.T, images []image) {
	t.Helper()
	testutil.Require(t, "docker")
	program, err := os.ReadFile(testutil.GoBuild(t, "github.com/hotcell/hotcell/integration/hostile/skillbomb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		args := []string{"import"}
		for _, change := range i.changes {
			args = append(args, "--change", change)
		}
		c := exec.CommandContext(t.Context(), "docker", append(args, "-", i.ref())...)
		c.Stdin = bytes.NewReader(i.layer(t, program))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("docker import %s: %v %s", i.ref(), err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.CommandContext(context.Background(), "docker", "rmi", i.ref()).CombinedOutput(); err != nil {
				t.Errorf("docker rmi %s: %v %s", i.ref(), err, out)
			}
		})
	}
}

// layer is the image's file system: the program and the usual folders, some of which are links.
func (i *image) layer(t *testing.T, program []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	linked := map[string]bool{}
	for _, l := range i.links {
		linked[l[0]] = true
		put(tar.Header{Name: l[0], Typeflag: tar.TypeSymlink, Linkname: l[1], Mode: 0o777}, nil)
	}
	for _, dir := range []string{"bin", "etc", "data", "home", "tmp", "proc", "sys", "dev", "run"} {
		if !linked[dir] {
			put(tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o777}, nil)
		}
	}
	put(tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("root:x:0:0::/:/bin/skillbomb\nskill:x:65600:0::/:/\n"))
	put(tar.Header{Name: "bin/skillbomb", Typeflag: tar.TypeReg, Mode: 0o755}, program)
	if i.setuid {
		put(tar.Header{Name: "bin/uid-skillbomb", Typeflag: tar.TypeReg, Mode: 0o4755}, program)
		put(tar.Header{Name: "bin/gid-skillbomb", Typeflag: tar.TypeReg, Mode: 0o2755}, program)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// on is a row that runs a subcommand from within an image.
func on(name, what, stops string, args ...string) row {
	i := image{name: name}
	return row{name: "image-" + name, what: what, stops: stops, args: args, yaml: "run: {image: '" + i.ref() + "', command: [/bin/skillbomb]}\n"}
}

// asFirst is a row that runs a subcommand as the first process of a cell, with no runner.
func asFirst(name, what, stops string, args ...string) row {
	i := image{name: "plain"}
	return row{name: "first-" + name, what: what, stops: stops, cold: "it reports no ready, so that it never waits",
		yaml: small + "run: {image: '" + i.ref() + "', frames: true, command: [/bin/skillbomb, " + strings.Join(args, ", ") + "]}\n"}
}

func (r row) ends(code a2e.Code, reason, says string) row {
	r.code, r.reason, r.says = code, reason, says
	return r
}

func (r row) and(check func(testing.TB, told)) row {
	r.check = check
	return r
}

func (r row) but(under *verdict) row {
	r.runsc = under
	return r
}

// without is what differs where no engine is: there images are unpacked without the bits that raise privileges.
func (r row) without(engine *verdict) row {
	r.oci = engine
	return r
}

func imageRows() []row {
	const unsupported = a2e.ReasonUnsupported
	rows := []row{
		on("env", "brings variables that steer the linker, the runner and the skill", "reserved names are left out, fixed ones replaced", "surroundings").and(sealed),
		on("config", "brings an entrypoint, a user and a working directory on a leaked descriptor", "all of them are overridden", "surroundings").and(sealed),
		on("volumes", "declares volumes, to have a writable disk", "each is masked by an empty read-only tmpfs", "disk-fill").and(held(15)),
		on("health", "brings a health check, to have more processes", "health checks are off", "alone").and(held(1)),
		on("setuid", "brings programs of root's with the set-uid bit", "no-new-privileges", "setuid-programs").and(held(5)).without(heldBut(3)),
		asFirst("memory", "touches memory without end as PID 1", "the memory limit of the cell's cgroup", "memory").ends(a2e.OutOfMemory, "", "64Mi"),
		asFirst("memory-child", "has a child that does it, and exits with 0 without a word", "the memory limit of the cell's cgroup", "memory-child", "'1'", "'0'").
			ends(a2e.OutOfMemory, "", "64Mi"),
		asFirst("exit-137", "exits as if it had been killed", "the engine's word, which proves nothing more", "exit", "'137'").
			ends(a2e.SandboxCrash, a2e.ReasonExit, "exit code 137"),
		asFirst("exit-3", "exits without a result", "the engine's word", "exit", "'3'").ends(a2e.SandboxCrash, a2e.ReasonExit, "exit code 3"),
		asFirst("silent", "ends well without a result", "only a result frame is a result", "exit", "'0'").ends(a2e.SandboxCrash, a2e.ReasonTruncated, ""),
		asFirst("hello", "gives a result", "nothing", "hello"),
	}
	for name, what := range map[string]string{
		"volume-proc": "in /proc", "volume-dots": "by way of ..", "volume-above": "above the cell's own places", "volume-dev": "in /dev",
	} {
		rows = append(rows, on(name, "declares a volume "+what, "what cannot be masked is refused", "hello").ends(a2e.RuntimeError, unsupported, "masked"))
	}
	for _, place := range []string{"workspace", "out", "run", "hotcell"} {
		rows = append(rows, on("link-"+place, "has a symbolic link at /"+place+", so that what is mounted there appears elsewhere",
			"the runner looks where its places are", "hello").ends(a2e.RuntimeError, unsupported, "symbolic link"))
	}
	for _, place := range []string{"dev", "proc", "sys"} {
		rows = append(rows, on("link-"+place, "has a symbolic link at /"+place, "the engine, which takes it away", "write-system").and(held(36)).but(heldBut(36, "/proc/self/oom_score_adj")))
	}
	return rows
}

func TestImages(t *testing.T) {
	load(t, hostileImages())
	runRows(t, imageRows())
}

// An image's labels become a container's: a cell must carry its own all the same, or others would not know whose it is.
func TestImageLabels(t *testing.T) {
	images := []image{{name: "labels-alone", changes: hostileImages()[9].changes}}
	load(t, images)
	r := on("labels-alone", "brings hotcell's labels", "a cell sets every one of them", "victim")
	h := newHouse(t, []row{r})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	var mine []sandbox.Listed
	got := h.call(ctx, &r, nil, func(ev *a2e.Event) {
		once.Do(func() {
			defer cancel()
			all, err := h.Cells.List(ctx)
			if err != nil {
				t.Error(err)
			}
			for _, l := range all {
				if l.Labels[sandbox.LabelInstance] == instance && l.Kind == "cell" && l.Labels[sandbox.LabelPool] == "" {
					mine = append(mine, l)
				}
			}
		})
	})
	if len(mine) != 1 {
		t.Fatalf("%d cells carry this instance's label, want 1: the answer was %v", len(mine), got.answer.Error)
	}
	l := mine[0].Labels
	if l[sandbox.LabelCall] != got.answer.ID || l[sandbox.LabelExpires] == "1" || l["hotcell.lock"] != "" || mine[0].Name == "x" ||
		!rig.Engineless() && !rig.OnCluster() && l["hotcell.name"] != mine[0].Name {
		t.Errorf("labels = %v", l)
	}
}
