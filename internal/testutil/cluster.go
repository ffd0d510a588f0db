package testutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// EnvKubeLoad names the environment variable with the command that gives a cluster's nodes the images of an archive, whose
// path is its last argument: "ctr -n k8s.io images import".
const EnvKubeLoad = "HOTCELL_KUBE_LOAD"

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
