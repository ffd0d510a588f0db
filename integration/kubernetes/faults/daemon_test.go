package faults

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// hang is far beyond what anything here takes: only what hangs exceeds it.
const hang = 4 * time.Minute

// lingers is a skill that says that it is there, and is for so many seconds.
const lingers = `export default async (args, skill) => {
	skill.progress(1, "it is there");
	await new Promise((done) => setTimeout(done, 1000 * args.seconds));
	return { stayed: args.seconds };
};`

// daemon is a hotcell whose cells are pods of a namespace of its own.
type daemon struct {
	namespace string
	bin       string
	config    string
	url       string
	client    *http.Client
}

// serve starts one. It and its namespace go with the test, and nothing may be left in that.
func serve(t *testing.T) *daemon {
	t.Helper()
	testutil.Require(t, "kubernetes")
	testutil.Require(t, "go")
	if built, _ := filepath.Glob("../../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	bin := testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell", "CGO_ENABLED=0")
	d := &daemon{namespace: "hotcell-faults-" + strings.ToLower(rand.Text()[:8]), bin: bin, client: &http.Client{Timeout: hang}}
	dir, runner := t.TempDir(), "docker.io/hotcell-test/hotcell-runner:faults"
	archive := filepath.Join(dir, "runner.tar")
	if out, err := exec.Command(bin, "images", "runner", "--arch", runtime.GOARCH, "--ref", runner, archive).CombinedOutput(); err != nil {
		t.Fatalf("images runner: %v\n%s", err, out)
	}
	testutil.KubeLoad(t, archive)
	testutil.Kubectl(t, "", "create", "namespace", d.namespace)
	t.Cleanup(func() { testutil.Kubectl(t, "", "delete", "namespace", d.namespace, "--wait=false") })
	write(t, dir, map[string]string{
		"skills/lingers/SKILL.md":        "---\nname: lingers\ndescription: a skill for tests\n---\nRun it.\n",
		"skills/lingers/scripts/main.js": lingers,
		"skills/absent/SKILL.md":         "---\nname: absent\ndescription: a skill for tests\n---\nRun it.\n",
		"skills/absent/skill.yaml":       "run: {image: '" + absentRef + "', command: [/x]}\n",
		"hotcell.yaml": `skills: {dirs: ['` + dir + `/skills']}
data_dir: '` + dir + `/data'
sandbox: {driver: kubernetes, accept_unenforced: [seccomp, network, paths, mounts]}
kubernetes: {namespace: ` + d.namespace + `, runner_image: '` + runner + `'}
pool: {max: 0}
readiness: {canary: 0}
`,
	})
	d.config = filepath.Join(dir, "hotcell.yaml")
	d.start(t, exec.Command(bin, "serve", "--config", d.config, "--socket", filepath.Join(dir, "s"), "--listen", "127.0.0.1:0"))
	t.Cleanup(func() { d.leavesNothing(t) })
	return d
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// start runs the daemon until the test's end, and shows what it said where the test failed.
func (d *daemon) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ready, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "ready: "); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
		if t.Failed() {
			t.Logf("it said:\n%s", &said)
		}
	})
	select {
	case d.url = <-ready:
	case <-ended:
		t.Fatalf("it did not start: %s", &said)
	case <-time.After(time.Minute):
		t.Fatal("it is not ready after a minute")
	}
}

// call makes a call and returns its answer. It may be called by any goroutine.
func (d *daemon) call(id, skill string, seconds, timeout int) (*a2e.CallResponse, error) {
	body := fmt.Sprintf(`{"id": %q, "name": %q, "arguments": {"seconds": %d}, "timeout": %d}`, id, skill, seconds, timeout)
	resp, err := d.client.Post(d.url+"/v1/calls", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	answer := &a2e.CallResponse{}
	if err := json.Unmarshal(text, answer); err != nil || answer.Data == nil {
		return nil, fmt.Errorf("status %d, %q: %w", resp.StatusCode, text, err)
	}
	return answer, nil
}

// flight is a call that is under way.
type flight struct {
	id     string
	answer chan *a2e.CallResponse
	began  time.Time
}

// launch makes a call and does not wait.
func (d *daemon) launch(t *testing.T, seconds, timeout int) *flight {
	t.Helper()
	f := &flight{id: "f-" + strings.ToLower(rand.Text()[:10]), answer: make(chan *a2e.CallResponse, 1), began: time.Now()}
	go func() {
		answer, err := d.call(f.id, "lingers", seconds, timeout)
		if err != nil {
			t.Error(err)
		}
		f.answer <- answer
	}()
	return f
}

// begin makes a call and returns when its skill is at work.
func (d *daemon) begin(t *testing.T, seconds, timeout int) *flight {
	t.Helper()
	f := d.launch(t, seconds, timeout)
	testutil.Poll(t, time.Minute, func() bool {
		resp, err := d.client.Get(d.url + "/v1/calls/" + f.id + "/events")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return strings.Contains(string(text), "it is there")
	})
	return f
}

// ends expects a call to end in one way ("ok", or code/reason), with words in its message.
func (f *flight) ends(t *testing.T, want string, words ...string) *a2e.CallResponse {
	t.Helper()
	select {
	case answer := <-f.answer:
		check(t, answer, want, words...)
		return answer
	case <-time.After(hang):
		t.Fatalf("no answer after %v", hang)
	}
	return nil
}

func check(t *testing.T, answer *a2e.CallResponse, want string, words ...string) {
	t.Helper()
	if answer == nil {
		t.Fatal("no answer")
	}
	got, said := "ok", ""
	if answer.Error != nil {
		got, said = strings.TrimSuffix(string(answer.Error.Code)+"/"+answer.Error.Reason(), "/"), answer.Error.Message
		t.Logf("%s: %s", got, said)
	}
	if got != want {
		t.Errorf("got %s, want %s: %+v", got, want, answer.Error)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("message %q, want %q in it", said, w)
		}
	}
	if answer.Error != nil && answer.Error.Code == a2e.SandboxCrash && !answer.Error.Retryable {
		t.Errorf("%s is not retryable", got)
	}
}

// fails expects a call that is made now to end in one way.
func (d *daemon) fails(t *testing.T, want string, words ...string) {
	t.Helper()
	d.launch(t, 0, 60).ends(t, want, words...)
}

// works expects that of the next call.
func (d *daemon) works(t *testing.T) {
	t.Helper()
	d.fails(t, "ok")
}

// pod names the pod of the only call that is under way, once that of the call before is gone.
func (d *daemon) pod(t *testing.T) string {
	t.Helper()
	var all []string
	defer func() {
		if len(all) != 1 {
			t.Errorf("pods: %q", all)
		}
	}()
	testutil.Poll(t, time.Minute, func() bool {
		all = strings.Fields(testutil.Kubectl(t, "", "get", "pods", "-n", d.namespace, "-l", "hotcell.kind=cell", "-o", "name"))
		return len(all) == 1
	})
	return strings.TrimPrefix(all[0], "pod/")
}

// node names the node of a pod.
func (d *daemon) node(t *testing.T, pod string) string {
	t.Helper()
	return testutil.Kubectl(t, "", "get", "pod", "-n", d.namespace, pod, "-o", "jsonpath={.spec.nodeName}")
}

// leavesNothing: no cell outlives its call for long.
func (d *daemon) leavesNothing(t *testing.T) {
	t.Helper()
	left := "?"
	for until := time.Now().Add(90 * time.Second); left != "" && time.Now().Before(until); time.Sleep(300 * time.Millisecond) {
		left = strings.TrimSpace(testutil.Kubectl(t, "", "get", "pods", "-n", d.namespace, "-l", "hotcell.kind=cell", "-o", "name"))
	}
	if left != "" {
		t.Errorf("left behind: %s", left)
	}
}
