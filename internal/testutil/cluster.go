package testutil

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// EnvKubeLoad names the environment variable with the command that gives a cluster's nodes the images of an archive, whose
// path is its last argument: "ctr -n k8s.io images import".
const EnvKubeLoad = "HOTCELL_KUBE_LOAD"

// EnvKubeFault names the environment variable with the command that disturbs a cluster, for tests that put up with nothing beside
// them: scripts/kube-fault says how it is called and what it does.
const EnvKubeFault = "HOTCELL_KUBE_FAULT"

// haveFaults: a way to disturb the cluster.
func haveFaults(context.Context) error {
	command := strings.Fields(os.Getenv(EnvKubeFault))
	if len(command) == 0 {
		return fmt.Errorf("%s is not set: name a command that stops and kills the programs of a cluster, as scripts/kube-fault does for one on this machine", EnvKubeFault)
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("%s: %w", EnvKubeFault, err)
	}
	return nil
}

// KubeFault does something (freeze, kill) to a program of a cluster (kubelet, kube-apiserver), of a node where it is one's. undo, or
// the end of the test, undoes it.
func KubeFault(t testing.TB, what, program, node string) (undo func()) {
	t.Helper()
	command := append(strings.Fields(os.Getenv(EnvKubeFault)), what, program)
	if node != "" {
		command = append(command, node)
	}
	c := exec.Command(command[0], command[1:]...)
	var words strings.Builder
	c.Stderr = &words
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	undo = sync.OnceFunc(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, &words)
		}
	})
	t.Cleanup(undo)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "done\n" {
		undo()
		t.Fatalf("%s: it says %q, %v, expected that it is done\n%s", strings.Join(command, " "), line, err, &words)
	}
	return undo
}

// haveCluster: a cluster that answers, and a way to give it images.
func haveCluster(ctx context.Context) error {
	if os.Getenv("KUBECONFIG") == "" {
		return errors.New("KUBECONFIG is not set: start a cluster")
	}
	if os.Getenv(EnvKubeLoad) == "" {
		return fmt.Errorf("%s is not set: name a command that loads an image archive into the cluster", EnvKubeLoad)
	}
	return haveProgram("kubectl", "version", "--request-timeout=5s")(ctx)
}

// KubeLoad gives a cluster's nodes the images of an archive.
func KubeLoad(t testing.TB, archive string) {
	t.Helper()
	command := append(strings.Fields(os.Getenv(EnvKubeLoad)), archive)
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// Kubectl runs kubectl and returns what it says.
func Kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	c := exec.Command("kubectl", args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
