package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/testutil"
)

// doctorRef is the runner's image of these tests.
const doctorRef = "docker.io/hotcell-test/hotcell-runner:doctor"

// examined is `hotcell doctor` for a cluster.
type examined struct {
	bin string
	env []string // of the configuration
}

// examiner builds hotcell and gives the cluster its runner.
func examiner(t *testing.T) *examined {
	t.Helper()
	testutil.Require(t, "kubernetes")
	testutil.Require(t, "go")
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	x := &examined{bin: testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell", "CGO_ENABLED=0")}
	runner := filepath.Join(t.TempDir(), "runner.tar")
	if out, err := exec.Command(x.bin, "images", "runner", "--ref", doctorRef, runner).CombinedOutput(); err != nil {
		t.Fatalf("images runner: %v\n%s", err, out)
	}
	testutil.KubeLoad(t, runner)
	x.env = []string{
		"HOTCELL__DATA_DIR=" + t.TempDir(), "HOTCELL__SANDBOX__ACCEPT_UNENFORCED=seccomp,network,paths,mounts", "HOTCELL__KUBERNETES__RUNNER_IMAGE=" + doctorRef,
	}
	return x
}

func (x *examined) command(settings ...string) *exec.Cmd {
	c := exec.Command(x.bin, "doctor", "--json", "--driver", "kubernetes")
	c.Env = append(append(os.Environ(), x.env...), settings...)
	return c
}

// run returns the report, and the exit code.
func (x *examined) run(t *testing.T, settings ...string) (report doctor.Report, code int) {
	t.Helper()
	c := x.command(settings...)
	var errs bytes.Buffer
	c.Stderr = &errs
	began := time.Now()
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if json.Unmarshal(out, &report) != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	t.Logf("%v: cell: %s", settings, report.Check("cell").Found)
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("it took %s", took)
	}
	return report, c.ProcessState.ExitCode()
}

// levels expects how some checks come out.
func levels(t *testing.T, r *doctor.Report, level doctor.Level, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if c := r.Check(id); c == nil || c.Level != level {
			t.Errorf("expected %s: %+v", level, c)
		}
	}
}

// left are the pods and owners of cells in a namespace.
func left(t *testing.T, namespace string) string {
	t.Helper()
	return testutil.Kubectl(t, "", "-n", namespace, "get", "pods,configmaps", "-l", "hotcell.kind in (cell,instance)", "-o", "name")
}

// With what deploy/kubernetes installs, and the rights of its account alone, doctor says what this cluster enforces, and leaves
// nothing; told by its operator that the network is closed, where it is not, it says that.
func TestDoctorOfACluster(t *testing.T) {
	x := examiner(t)
	in := install(t)
	x.env = append(x.env, "HOTCELL__KUBERNETES__KUBECONFIG="+in.steal(t).kubeconfig, "HOTCELL__KUBERNETES__NAMESPACE="+in.cells)
	report, code := x.run(t)
	for range 5 { // others may have the node's processors for a while
		if c := report.Check("cell"); !strings.Contains(c.Found, "Insufficient") {
			break
		}
		report, code = x.run(t)
	}
	levels(t, &report, doctor.OK, "cluster", "nodes", "namespace", "pod-security", "rights", "least-rights", "runner-image", "runtime", "cell", "cell-user",
		"cell-seccomp", "cell-files", "cell-limits", "left-cells", "quota")
	levels(t, &report, doctor.Warn, "unenforced")
	if code != 0 || !report.OK {
		t.Errorf("exit %d: %+v", code, report)
	}
	if rest := left(t, in.cells); rest != "" {
		t.Errorf("left behind: %s", rest)
	}
	open := report.Check("network-policy").Level == doctor.Warn
	if !open {
		levels(t, &report, doctor.OK, "network-policy", "cell-network")
	}
	report, code = x.run(t, "HOTCELL__KUBERNETES__NETWORK_POLICY=enforced")
	if open {
		levels(t, &report, doctor.Fail, "network-policy", "controls")
		if c := report.Check("network-policy"); code != 1 || !strings.Contains(c.Found, "kubernetes.network_policy says that it is enforced") {
			t.Errorf("exit %d: %+v", code, c)
		}
	}
	report, code = x.run(t, "HOTCELL__SANDBOX__RUNTIME=hotcell-no-such-class", "HOTCELL__SANDBOX__ACCEPT_UNENFORCED=network")
	levels(t, &report, doctor.Fail, "runtime", "cell")
	if c := report.Check("cell"); code != 1 || !strings.Contains(c.Found, `runtime class "hotcell-no-such-class"`) {
		t.Errorf("exit %d: %+v", code, c)
	}
}

// What is wrong is said in a line, at once, and nothing that is not known is called good.
func TestDoctorOfNoCluster(t *testing.T) {
	x := examiner(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	config := func(server string) string {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": "` + server + `"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "HOTCELL__KUBERNETES__KUBECONFIG=" + path
	}
	for name, tt := range map[string]struct {
		settings    []string
		check, says string
	}{
		"no kubeconfig": {[]string{"KUBECONFIG=", "HOME=/nowhere"}, "cluster", "no cluster is configured"},
		"no file":       {[]string{"HOTCELL__KUBERNETES__KUBECONFIG=/nowhere/kubeconfig"}, "cluster", "/nowhere/kubeconfig: no such file"},
		"no context":    {[]string{"HOTCELL__KUBERNETES__CONTEXT=nowhere"}, "cluster", `context "nowhere" does not exist`},
		"dead":          {[]string{config("https://127.0.0.1:1")}, "cluster", "connection refused"},
		"silent":        {[]string{config("https://" + silent.Addr().String())}, "cluster", "no answer from https://" + silent.Addr().String()},
		"no namespace":  {[]string{"HOTCELL__KUBERNETES__NAMESPACE=hotcell-no-such-namespace"}, "namespace", "there is no namespace hotcell-no-such-namespace"},
	} {
		report, code := x.run(t, tt.settings...)
		if c := report.Check(tt.check); code != 1 || report.OK || c.Level != doctor.Fail || c.Hint == "" || !strings.Contains(c.Found, tt.says) {
			t.Errorf("%s: exit %d, %+v", name, code, c)
		}
		levels(t, &report, doctor.Skip, "cell", "network-policy", "runner-image", "cell-user", "left-cells")
	}
}

// Who interrupts it leaves nothing behind, at whatever moment.
func TestDoctorIsInterrupted(t *testing.T) {
	x := examiner(t)
	in := names(t)
	apply(t, in.names.Replace(render(t, "cells")))
	for _, after := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		c := x.command("HOTCELL__KUBERNETES__NAMESPACE=" + in.cells)
		var out bytes.Buffer
		c.Stdout = &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 130 || out.Len() > 0 {
			t.Errorf("after %v: exit %d, %s", after, code, out.String())
		}
		testutil.Poll(t, time.Minute, func() bool { return left(t, in.cells) == "" })
	}
}
