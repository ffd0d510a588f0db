package kubernetes

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// thing is a pod or a ConfigMap that was there at some time.
type thing struct {
	kind, name, id string // the last is its uid
	owner, call    string // hotcell's words
	came, went     time.Time
}

// chronicle is all of hotcell's that was in a namespace while it was watched.
type chronicle struct {
	namespace string
	mu        sync.Mutex
	things    map[string]*thing // by uid
}

// watch begins to write down what comes into a namespace and goes from it, until the test's end.
func watch(t *testing.T, namespace string) *chronicle {
	t.Helper()
	c := &chronicle{namespace: namespace, things: map[string]*thing{}}
	for _, resource := range []string{"pods", "configmaps"} {
		cmd := exec.Command("kubectl", "get", "--raw", "/api/v1/namespaces/"+namespace+"/"+resource+"?watch=1&timeoutSeconds=7200&labelSelector="+sandbox.LabelManaged+"%3D1")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var stopped atomic.Bool
		var reader sync.WaitGroup
		reader.Go(func() {
			c.read(out)
			if early := !stopped.Load(); cmd.Wait() != nil && early {
				t.Errorf("the watch of %s has ended, and what follows says nothing: %s", resource, &said)
			}
		})
		t.Cleanup(func() {
			stopped.Store(true)
			_ = cmd.Process.Kill()
			reader.Wait()
		})
	}
	return c
}

func (c *chronicle) read(events io.Reader) {
	for lines := json.NewDecoder(events); ; {
		var e struct {
			Type   string
			Object struct {
				Kind     string
				Metadata struct {
					Name, UID           string
					Labels, Annotations map[string]string
				}
			}
		}
		if lines.Decode(&e) != nil {
			return
		}
		m := e.Object.Metadata
		c.mu.Lock()
		one, known := c.things[m.UID]
		if !known {
			one = &thing{
				kind: e.Object.Kind + " " + m.Labels[sandbox.LabelKind], name: m.Name, id: m.UID, owner: m.Annotations[sandbox.LabelInstance],
				call: m.Annotations[sandbox.LabelCall], came: time.Now(),
			}
			c.things[m.UID] = one
		}
		if e.Type == "DELETED" {
			one.went = time.Now()
		}
		c.mu.Unlock()
	}
}

// all is what was there, the first first.
func (c *chronicle) all() []thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []thing
	for _, one := range c.things {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b thing) int { return a.came.Compare(b.came) })
	return all
}

// left is what is there of some supervisors, and when the last of theirs went.
func (c *chronicle) left(owners ...string) (left []string, last time.Time) {
	for _, one := range c.all() {
		switch {
		case !slices.Contains(owners, one.owner):
		case one.went.IsZero():
			left = append(left, one.kind+" "+one.name)
		case one.went.After(last):
			last = one.went
		}
	}
	return left, last
}

// remains is what a namespace has that its installation did not bring, apart from trees, which all supervisors share.
func remains(t *testing.T, namespace string) string {
	t.Helper()
	said := testutil.Kubectl(t, "", "get", "pods,configmaps,secrets,services,networkpolicies,persistentvolumeclaims,serviceaccounts", "-n", namespace,
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.labels.hotcell\.kind}{"\n"}{end}`)
	var left []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		ours := strings.HasSuffix(line, " volume") || line == "NetworkPolicy hotcell-deny-all"
		if !ours && line != "ConfigMap kube-root-ca.crt" && line != "ServiceAccount default" && line != "" {
			left = append(left, line)
		}
	}
	return strings.Join(left, ", ")
}
