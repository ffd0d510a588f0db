package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// slowSkill takes its time, in a cell that needs no image but the runner's.
var slowSkill = map[string]string{
	"skills/slow/SKILL.md":   "---\nname: slow\ndescription: for tests\n---\n",
	"skills/slow/main.js":    "export default async (args) => { await new Promise((r) => setTimeout(r, args.ms)); return args.n; };\n",
	"skills/slow/skill.yaml": modest,
}

func textFile(name, text string) images.LayerFile {
	return images.LayerFile{Name: name, Mode: 0o644, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// relay lets pods reach what listens on this host's loopback interface, at the address that is returned. It ends with the test.
func relay(t *testing.T, to string) string {
	t.Helper()
	node := strings.TrimSpace(testutil.Kubectl(t, "", "get", "nodes", "-o", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`))
	l, err := net.Listen("tcp", net.JoinHostPort(node, "0"))
	if err != nil {
		t.Skipf("the cluster's node is not this host, whose Postgres its pods would not reach: %v", err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { join(from, to) })
		}
	})
	return l.Addr().String()
}

func join(from net.Conn, to string) {
	defer from.Close()
	there, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer there.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, there)
		_ = from.Close()
	})
	_, _ = io.Copy(there, from)
	_ = there.Close()
	back.Wait()
}

// replicas is what deploy/kubernetes/replicas installs, with a Postgres of a test's own.
type replicas struct {
	*installed
	token string
}

func installReplicas(t *testing.T) *replicas {
	t.Helper()
	b := build(t)
	server := testutil.Postgres(t)
	var files []images.LayerFile
	for name, text := range slowSkill {
		files = append(files, textFile(name, text))
	}
	b.ship(t, files...)
	store, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	store.Host = relay(t, store.Host)
	in := names(t, "network_policy: unknown", "network_policy: enforced", "example.org/hotcell-runner:local", b.runner, "example.org/hotcell:local", b.hotcell,
		"cpu: 250m", "cpu: 50m", // of one small node others have a part, too
		"    log: {format: json}", "    log: {format: json}\n    skills: {dirs: [/skills]}")
	manifests := in.names.Replace(render(t, "replicas"))
	testutil.Kubectl(t, "", "create", "namespace", in.system)
	testutil.Kubectl(t, "", "-n", in.system, "create", "secret", "generic", "hotcell-store", "--from-literal=url="+store.String(), "--from-literal=audit-key="+strings.Repeat("5a", 32))
	apply(t, manifests)
	in.rolledOut(t)
	r := &replicas{installed: in}
	said := testutil.Kubectl(t, "", "exec", "-n", in.system, "deploy/hotcell", "--", "/hotcell", "tokens", "create", "--principal", "alice")
	if r.token = regexp.MustCompile(`hct_\S+`).FindString(said); r.token == "" {
		t.Fatalf("no token: %s", said)
	}
	return r
}

// pods are the addresses to which a load balancer would send calls.
func (r *replicas) pods() []string {
	out, err := exec.Command("kubectl", "get", "endpointslices", "-n", r.system, "-l", "kubernetes.io/service-name=hotcell", "-o", "json").Output()
	var list struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready bool }
			}
		}
	}
	if err != nil || json.Unmarshal(out, &list) != nil {
		return nil
	}
	var pods []string
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready {
				pods = append(pods, e.Addresses...)
			}
		}
	}
	return pods
}

// post sends a call to one pod.
func (r *replicas) post(pod, body string) (*a2e.CallResponse, error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+net.JoinHostPort(pod, "8765")+"/v1/calls", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Host = "hotcell" // as clients within the cluster call it
	req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {"application/json"}}
	client := http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer a2e.CallResponse
	if err := json.Unmarshal(text, &answer); err != nil || answer.Type != a2e.TypeCallResponse {
		return nil, fmt.Errorf("%s: %.300s", resp.Status, bytes.TrimSpace(text))
	}
	return &answer, nil
}

// told is what one caller was told.
type told struct {
	body   string
	answer *a2e.CallResponse
	asked  []string // why it asked again
}

// ask sends a call to any pod, and to another one while it is told to.
func (r *replicas) ask(n int) told {
	got := told{body: fmt.Sprintf(`{"id": "roll-%d", "name": "slow", "arguments": {"n": %d, "ms": 3000}}`, n, n)}
	for until := time.Now().Add(3 * time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		pods := r.pods()
		if len(pods) == 0 {
			got.asked = append(got.asked, "no pod is ready")
			continue
		}
		answer, err := r.post(pods[rand.IntN(len(pods))], got.body)
		if err == nil && (answer.Error == nil || answer.Error.Reason() != a2e.ReasonDraining) {
			got.answer = answer
			return got
		}
		if err == nil {
			err = errors.New(answer.Error.Message)
		}
		got.asked = append(got.asked, err.Error())
	}
	return got
}

// rolledOut waits until all replicas are new and ready.
func (in *installed) rolledOut(t *testing.T) {
	t.Helper()
	out, err := exec.Command("kubectl", "rollout", "status", "-n", in.system, "deploy/hotcell", "--timeout=240s").CombinedOutput()
	if err != nil {
		t.Fatalf("it is not ready: %s\n%s\n%s", out, testutil.Kubectl(t, "", "describe", "pods", "-n", in.system),
			testutil.Kubectl(t, "", "logs", "-n", in.system, "-l", "app=hotcell", "--tail=30"))
	}
}

// Several replicas on one Postgres are replaced one after the other while they are called: no call notices, each request sent again has
// the answer that it had, whoever is asked, and once all have ended the cluster has no cell of theirs.
func TestReplicasAreReplacedWhileTheyServe(t *testing.T) {
	r := installReplicas(t)
	before := r.pods()
	const calls = 12
	answers := make([]told, calls)
	var callers sync.WaitGroup
	for first := range 3 {
		callers.Go(func() {
			for n := first; n < calls; n += 3 {
				answers[n] = r.ask(n)
			}
		})
	}
	until := time.Now().Add(2 * time.Minute)
	for ; !strings.Contains(r.list(t), `"Running"`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("no call runs: %s", r.list(t))
		}
	}
	testutil.Kubectl(t, "", "rollout", "restart", "-n", r.system, "deploy/hotcell")
	r.rolledOut(t)
	callers.Wait()
	for _, pod := range r.pods() {
		if slices.Contains(before, pod) {
			t.Errorf("%s was there before the others were replaced", pod)
		}
	}
	for n, got := range answers {
		if got.answer == nil || got.answer.Error != nil || got.answer.Data.Data != float64(n) {
			t.Errorf("call %d: %+v, after it asked again because of %q", n, got.answer, got.asked)
			continue
		}
		pods := r.pods()
		again, err := r.post(pods[rand.IntN(len(pods))], got.body)
		if err != nil || again.ID != got.answer.ID {
			t.Errorf("call %d: sent again %+v, %v", n, again, err)
		}
		if len(got.asked) > 0 {
			t.Logf("call %d asked again because of %q", n, got.asked)
		}
	}
	r.bounds(t)
	r.ends(t)
}

// list is what the replicas say of calls.
func (r *replicas) list(t *testing.T) string {
	t.Helper()
	for _, pod := range r.pods() {
		req, err := http.NewRequest(http.MethodGet, "http://"+net.JoinHostPort(pod, "8765")+"/v1/calls", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "hotcell"
		req.Header.Set("Authorization", "Bearer "+r.token)
		client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return string(text)
	}
	return ""
}

// bounds: the cluster lets one replica at a time be evicted, and no two.
func (r *replicas) bounds(t *testing.T) {
	t.Helper()
	said := testutil.Kubectl(t, "", "get", "poddisruptionbudget", "hotcell", "-n", r.system, "-o", "jsonpath={.status.disruptionsAllowed} of {.status.expectedPods}")
	if said != "1 of 3" {
		t.Errorf("so many replicas may be evicted at once: %s, expected 1 of 3", said)
	}
}

// ends: after SIGTERM nothing is left.
func (in *installed) ends(t *testing.T) {
	t.Helper()
	testutil.Kubectl(t, "", "scale", "-n", in.system, "deploy/hotcell", "--replicas=0")
	testutil.Kubectl(t, "", "wait", "-n", in.system, "--for=delete", "pod", "-l", "app=hotcell", "--timeout=150s")
	if left := remains(t, in.cells); left != "" {
		t.Errorf("it has ended and left %s", left)
	}
}
