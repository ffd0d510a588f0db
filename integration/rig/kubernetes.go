package rig

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/images/layout"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/kubernetes"
)

// envKubeLoad names the environment variable with the command that gives a cluster's nodes the images of an archive.
const envKubeLoad = "HOTCELL_KUBE_LOAD"

// OnCluster reports whether the driver kubernetes makes the cells of rigs.
func OnCluster() bool { return os.Getenv(EnvDriver) == kubernetesWord }

const kubernetesWord = "kubernetes"

// AtOnce is how many cells tests on a cluster have at once, about: what a cell may use is set aside for it, and a node is small.
const AtOnce = 6

// Cells on a cluster are small, and may have to wait until others have gone. What a kubelet has to tell of them takes its time on a
// machine with much to do.
const (
	podCPU      = policies.Core / 10
	podPatience = 5 * time.Minute
)

// cluster is a namespace of a rig's own in the cluster of KUBECONFIG.
type cluster struct {
	namespace, dir string
	driver         *kubernetes.Driver
}

// onCluster has a rig's cells made by the driver kubernetes, in a namespace of its own that wants pods to be restricted. Images
// are the engine's, given to the nodes when they are first asked for.
func onCluster(r *Rig, cfg *executor.Config, opts Options) (err error) {
	c := &cluster{namespace: "hotcell-rig-" + strings.ToLower(rand.Text()[:10])}
	if c.dir, err = os.MkdirTemp("", "hotcell-rig-"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.end())
		}
	}()
	store, err := layout.New(layout.Options{Dir: filepath.Join(c.dir, "images")})
	if err != nil {
		return err
	}
	runner, err := c.runnerImage(cfg)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"create", "namespace", c.namespace}, {"label", "namespace", c.namespace, "pod-security.kubernetes.io/enforce=restricted"},
	} {
		if _, err := kubectl(context.Background(), args...); err != nil {
			return err
		}
	}
	c.driver, err = kubernetes.New(kubernetes.Options{
		Namespace: c.namespace, RunnerImage: runner, NeverPull: true, Instance: opts.Instance, Log: opts.Log, Traffic: opts.Traffic,
		Accept:   []string{kubernetes.ControlSeccomp, kubernetes.ControlNetwork, kubernetes.ControlPaths, kubernetes.ControlMounts},
		Timeouts: kubernetes.Timeouts{Request: time.Minute, Schedule: podPatience, Ready: podPatience, Attach: time.Minute, Settle: time.Minute},
	})
	if err != nil {
		return err
	}
	cfg.Driver, cfg.Images = c.driver, &saved{Store: store, give: giveNodes}
	cfg.Policy.Limits.CPU = podCPU
	cfg.MaxCells, cfg.QueueTimeout = 2*AtOnce, podPatience
	r.Cells, r.Folder, r.end, r.shoot, r.describe = c.driver, c.dir, c.end, c.shoot, c.describe
	return nil
}

// end leaves nothing behind, and reports what should not have been there any more.
func (c *cluster) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if c.driver != nil {
		all, err := c.driver.List(ctx)
		errs = append(errs, err)
		for _, l := range all {
			if l.Kind == "cell" {
				errs = append(errs, fmt.Errorf("pod %s is left behind: %s", l.Name, l.State))
			}
		}
		errs = append(errs, c.driver.Close())
	}
	_, err := kubectl(ctx, "delete", "namespace", c.namespace, "--ignore-not-found", "--wait=false")
	return errors.Join(append(errs, err, os.RemoveAll(c.dir))...)
}

func (c *cluster) describe(ctx context.Context, id string) ([]byte, error) {
	name, _, _ := strings.Cut(id, "/")
	return kubectl(ctx, "-n", c.namespace, "get", "pod", name, "-o", "json")
}

// shoot kills a cell's first process, where its node is this machine.
func (c *cluster) shoot(_ context.Context, id string) error {
	_, uid, _ := strings.Cut(id, "/")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return err
	}
	for _, path := range groups {
		group, err := os.ReadFile(path)
		if err != nil || uid == "" || !strings.Contains(strings.ReplaceAll(string(group), "_", "-"), "pod"+uid) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || !bytes.HasPrefix(command, []byte(wall.RunnerPath+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid < 2 {
			return fmt.Errorf("process of %s: %w", path, err)
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("no process of pod %s: its node is not this machine", id)
}

// runnerImage gives the nodes the image with the runner and the engine that the rig has, and returns its name.
func (c *cluster) runnerImage(cfg *executor.Config) (ref string, err error) {
	trees := []func(string) (sandbox.Tree, error){cfg.Runner}
	if cfg.Engine != nil {
		trees = append(trees, cfg.Engine)
	}
	img, tag := images.Layered{Arch: runtime.GOARCH}, ""
	for _, make := range trees {
		t, err := make(runtime.GOARCH)
		if err != nil {
			return "", err
		}
		tag += t.Digest[:12]
		if err := addTree(&img, t); err != nil {
			return "", err
		}
	}
	img.Ref = "docker.io/hotcell-test/rig:" + tag
	path := filepath.Join(c.dir, "runner.tar")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = img.Write(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return img.Ref, giveNodes(context.Background(), img.Ref, path)
}

func addTree(img *images.Layered, t sandbox.Tree) error {
	return fs.WalkDir(t.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		file := images.LayerFile{
			Name: "trees/" + t.Name + "-" + t.Digest + "/" + name, Mode: int64(info.Mode().Perm()), Size: info.Size(),
			Open: func() (io.ReadCloser, error) { return t.FS.Open(name) },
		}
		img.Files = append(img.Files, file)
		if t.Target == wall.DirRunner && name == "runner" {
			img.Files = append(img.Files, images.LayerFile{Name: "hotcell-runner", Mode: file.Mode, LinkTo: file.Name})
		}
		return nil
	})
}

// given are the images that this process has given to the nodes, which keep them.
var given = struct {
	sync.Mutex
	all map[string]bool
}{all: map[string]bool{}}

// giveNodes gives a cluster's nodes the images of an archive, what it is called, once.
func giveNodes(ctx context.Context, what, archive string) error {
	given.Lock()
	defer given.Unlock()
	if given.all[what] {
		return nil
	}
	command := append(strings.Fields(os.Getenv(envKubeLoad)), archive)
	if len(command) < 2 {
		return errors.New(envKubeLoad + " is not set: name a command that loads an image archive into the cluster")
	}
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	given.all[what] = true
	return nil
}

func kubectl(ctx context.Context, args ...string) ([]byte, error) {
	var words bytes.Buffer
	c := exec.CommandContext(ctx, "kubectl", args...)
	c.Stderr = &words
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w %s", strings.Join(args, " "), err, words.String())
	}
	return out, nil
}
