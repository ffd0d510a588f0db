package kubernetes

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

// installed is deploy/kubernetes on a cluster, under names of a test's own.
type installed struct {
	system, cells, tenant string // namespaces
	names                 *strings.Replacer
}

// render builds a kustomization.
func render(t *testing.T, dir string) string {
	t.Helper()
	return testutil.Kubectl(t, "", "kustomize", filepath.Join("../../deploy/kubernetes", dir))
}

// names are those of one test: several installations stand beside one another. Further pairs replace what else is to be different.
func names(t *testing.T, pairs ...string) *installed {
	t.Helper()
	testutil.Require(t, "kubernetes")
	mark := strings.ToLower(rand.Text()[:8])
	in := &installed{system: "hotcell-system-" + mark, cells: "hotcell-cells-" + mark, tenant: "hotcell-acme-" + mark}
	in.names = strings.NewReplacer(append(pairs,
		"hotcell-system", in.system, "namespace: hotcell-cells", "namespace: "+in.cells, "name: hotcell-cells", "name: "+in.cells,
		"namespace: hotcell-acme", "namespace: "+in.tenant, "name: hotcell-acme", "name: "+in.tenant,
		"hotcell-nodes", "hotcell-nodes-"+mark,
	)...)
	t.Cleanup(func() {
		testutil.Kubectl(t, "", "delete", "--ignore-not-found", "--wait=false", "namespace/"+in.system, "namespace/"+in.cells, "namespace/"+in.tenant,
			"clusterrole/hotcell-nodes-"+mark, "clusterrolebinding/hotcell-nodes-"+mark)
	})
	return in
}

// apply has a cluster take manifests, in which it may find nothing wrong, nor anything to warn of.
func apply(t *testing.T, manifests string) {
	t.Helper()
	for _, how := range [][]string{{}, {"--dry-run=server"}} {
		said := testutil.Kubectl(t, manifests, append([]string{"apply", "--server-side", "--validate=strict", "-f", "-"}, how...)...)
		if strings.Contains(said, "Warning") {
			t.Errorf("the cluster takes it with a warning:\n%s", said)
		}
	}
}

// install applies deploy/kubernetes, and the namespace of a tenant.
func install(t *testing.T, pairs ...string) *installed {
	t.Helper()
	in := names(t, pairs...)
	apply(t, in.names.Replace(render(t, ".")))
	apply(t, in.names.Replace(render(t, "tenant")))
	return in
}

// thief is kubectl with nothing but the token of the service account.
type thief struct{ kubeconfig string }

// steal takes a token of the supervisor's service account.
func (in *installed) steal(t *testing.T) thief {
	t.Helper()
	token := strings.TrimSpace(testutil.Kubectl(t, "", "create", "token", "hotcell", "-n", in.system))
	var config map[string]any
	if err := json.Unmarshal([]byte(testutil.Kubectl(t, "", "config", "view", "--raw", "--minify", "-o", "json")), &config); err != nil {
		t.Fatal(err)
	}
	for _, user := range config["users"].([]any) { // no certificate of an administrator is left
		user.(map[string]any)["user"] = map[string]any{"token": token}
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return thief{path}
}

// try runs kubectl, and returns what it said and whether it was done.
func (th thief) try(stdin string, args ...string) (said string, done bool) {
	c := exec.Command("kubectl", append([]string{"--kubeconfig", th.kubeconfig}, args...)...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}
