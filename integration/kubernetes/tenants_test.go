package kubernetes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/fleet"
	"github.com/hotcell/hotcell/internal/testutil"
)

const tenantsConfig = `
auth: {mode: token}
skills: {dirs: [%q], bundled: false}
sandbox: {driver: kubernetes, accept_unenforced: [seccomp, network, paths, mounts]}
kubernetes:
  namespace: %s
  runner_image: %q
  tenants:
    acme: {namespace: %s}
    beta: {namespace: %s, principals: [bob, "group:b-*"]}
pool: {max: 3}
`

// office is a daemon that keeps tenants apart, in the namespaces that deploy/kubernetes makes for them.
type office struct {
	*built
	dir, config      string
	rest, acme, beta string // namespaces
	daemon           *fleet.Daemon
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{built: build(t), dir: t.TempDir()}
	one, two := names(t), names(t)
	apply(t, one.names.Replace(render(t, "cells")))
	apply(t, one.names.Replace(render(t, "tenant")))
	apply(t, two.names.Replace(render(t, "tenant")))
	o.rest, o.acme, o.beta = one.cells, one.tenant, two.tenant
	skills := filepath.Join(o.dir, "skills")
	for name, text := range map[string]string{
		"SKILL.md":        "---\nname: hello\ndescription: says hello\n---\nRun it.\n",
		"skill.yaml":      "timeout_seconds: 60\nlimits: {memory: 128Mi, cpu: \"0.1\", workspace: 4Mi, out: 4Mi}\n",
		"scripts/main.js": "export default async () => ({hello: \"world\"});\n",
	} {
		o.write(t, filepath.Join(skills, "hello", name), text)
	}
	o.config = filepath.Join(o.dir, "hotcell.yaml")
	o.write(t, o.config, fmt.Sprintf(tenantsConfig, skills, o.rest, o.runner, o.acme, o.beta))
	return o
}

func (o *office) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// token is one for a principal and its groups.
func (o *office) token(t *testing.T, principal string, groups ...string) string {
	t.Helper()
	args := []string{"tokens", "create", "--principal", principal, "--config", o.config, "--data-dir", filepath.Join(o.dir, "data"), "--json"}
	for _, g := range groups {
		args = append(args, "--group", g)
	}
	out, err := exec.Command(o.bin, args...).Output()
	var made struct{ Token string }
	if err != nil || json.Unmarshal(out, &made) != nil || made.Token == "" {
		t.Fatalf("tokens create: %v, %s", err, out)
	}
	return made.Token
}

// call runs the skill for the owner of a token, and returns what is answered.
func (o *office) call(t *testing.T, token string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, o.daemon.URL+"/v1/calls", strings.NewReader(`{"name": "hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// waiting are the pods that wait for calls in a namespace, each with the tenant that it is for.
func (o *office) waiting(t *testing.T, namespace string) string {
	t.Helper()
	return strings.TrimSpace(testutil.Kubectl(t, "", "-n", namespace, "get", "pods", "-l", "hotcell.pool=1", "--field-selector=status.phase=Running",
		"-o", `jsonpath={range .items[*]}for {.metadata.labels.hotcell\.tenant}{"\n"}{end}`))
}

// Whose a call is decides in which namespace its cell is, and the cells that wait for the next call are its own, too. A tenant that has
// used up its quota is the only one who notices.
func TestTenantsHaveCellsOfTheirOwn(t *testing.T) {
	o := newOffice(t)
	alice, bob, carol := o.token(t, "alice", "acme"), o.token(t, "bob"), o.token(t, "carol", "staff")
	o.daemon = fleet.Serve(t, o.dir, o.bin, "HOTCELL_CONFIG="+o.config)
	for _, one := range []struct{ token, namespace, label string }{{alice, o.acme, "for acme"}, {bob, o.beta, "for beta"}, {carol, o.rest, "for"}} {
		if said := o.call(t, one.token); !strings.Contains(said, "world") {
			t.Fatalf("in %s: %s", one.namespace, said)
		}
		testutil.Poll(t, time.Minute, func() bool { return o.waiting(t, one.namespace) == one.label })
	}
	if said := o.call(t, o.token(t, "dave", "acme", "b-team")); !strings.Contains(said, "of several tenants, acme and beta") {
		t.Errorf("who is of two tenants: %s", said)
	}
	testutil.Kubectl(t, `{"spec": {"hard": {"pods": "0"}}}`, "-n", o.acme, "patch", "resourcequota", strings.Replace(o.acme, "acme", "cells", 1), "--patch-file=/dev/stdin")
	testutil.Poll(t, 30*time.Second, func() bool {
		return testutil.Kubectl(t, "", "-n", o.acme, "get", "resourcequota", "-o", "jsonpath={.items[*].status.hard.pods}") == "0"
	})
	testutil.Kubectl(t, "", "-n", o.acme, "delete", "pods", "--all", "--wait=true")
	testutil.Poll(t, time.Minute, func() bool { return o.waiting(t, o.acme) == "" })
	if said := o.call(t, alice); !strings.Contains(said, "namespace "+o.acme+" is full") {
		t.Errorf("acme has no room, and: %s", said)
	}
	for _, other := range []string{bob, carol} {
		if said := o.call(t, other); !strings.Contains(said, "world") {
			t.Errorf("acme has no room, and another: %s", said)
		}
	}
	o.daemon.Stop(t)
	for _, namespace := range []string{o.rest, o.acme, o.beta} {
		if left := testutil.Kubectl(t, "", "-n", namespace, "get", "pods", "-o", "name"); left != "" {
			t.Errorf("it has ended, and in %s there is %s", namespace, left)
		}
	}
	testutil.Kubectl(t, "", "-n", o.beta, "delete", "resourcequota", "--all")
	out, err := exec.Command(o.bin, "serve", "--config", o.config, "--data-dir", filepath.Join(o.dir, "data"), "--socket", filepath.Join(o.dir, "s"), "--listen", "127.0.0.1:0").CombinedOutput()
	if want := "namespace " + o.beta + " (kubernetes.tenants.beta.namespace): no ResourceQuota bounds memory and cpu there"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("serve: %v, expected %q in it:\n%s", err, want, out)
	}
}
