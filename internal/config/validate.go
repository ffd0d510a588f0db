package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/policies"
)

const (
	maxSocketPath = 107     // bytes, of sockaddr_un
	maxCells      = 1000    // each live cell has a uid of its own from a range of this size
	maxPods       = 100_000 // which are users of their own
	maxListed     = 256     // entries of a list
)

// Validate checks every value. The error joins one [FieldError] for each that is wrong.
func (c *Config) Validate() error { return joined(c.faults()) }

// mostCells is how many cells a driver may have at once.
func (c *Config) mostCells() int {
	if c.Sandbox.Driver == "kubernetes" {
		return maxPods
	}
	return maxCells
}

func (c *Config) faults() []*FieldError {
	var v faults
	c.authFaults(&v)
	c.quotaFaults(&v)
	v.add("socket", checkSocket(c.Socket))
	v.add("data_dir", checkFolder(c.DataDir))
	v.add("skills.dirs", checkList(c.Skills.Dirs))
	c.pluginFaults(&v)
	v.add("sandbox.driver", oneOf(c.Sandbox.Driver, []string{"auto", "docker", "oci", "kubernetes"}))
	v.add("sandbox.runtime", checkRuntime(c.Sandbox.Runtime))
	v.add("sandbox.max_cells", between(c.Sandbox.MaxCells, 0, c.mostCells()))
	v.add("sandbox.max_memory", positive(int64(c.Sandbox.MaxMemory)))
	c.clusterFaults(&v)
	c.poolFaults(&v)
	c.limitFaults(&v)
	c.networkFaults(&v)
	v.add("policy.images.registries", checkList(c.Policy.Images.Registries))
	v.add("policy.images.pull", checkPull(c.Policy.Images.Pull))
	c.defaultImageFaults(&v)
	c.imageFaults(&v)
	c.storeFaults(&v)
	c.toolFaults(&v)
	c.llmFaults(&v)
	c.secretFaults(&v)
	c.secretScopeFaults(&v)
	c.telemetryFaults(&v)
	v.add("policy.custom.code", checkPrincipals(c.Policy.Custom.Code))
	if e := c.Approvals.Expire; e < Age(time.Minute) || e > 365*Day {
		v.add("approvals.expire", fmt.Sprintf("expected a time from 1m to 365d, not %s", e))
	}
	v.add("a2e.errors", oneOf(c.A2E.Errors, []string{"resp", "message"}))
	v.add("a2e.session_idle", waitingTime(c.A2E.SessionIdle))
	c.adminFaults(&v)
	v.add("a2a.url", checkOwnURL(c.A2A.URL))
	return v
}

type faults []*FieldError

func (v *faults) add(key, why string) {
	if why != "" {
		*v = append(*v, &FieldError{Key: key, Why: why})
	}
}

// limitFaults finds limits under which no cell could run.
func (c *Config) limitFaults(v *faults) {
	for _, e := range policies.Check(policies.Operator, policies.Policy{Limits: c.Policy.Limits}) {
		v.add("policy."+e.Field, e.Problem+", or 0 for no bound")
	}
}

func (c *Config) defaultImageFaults(v *faults) {
	kinds := []string{"python", "sh"}
	for _, kind := range slices.Sorted(maps.Keys(c.Images.Defaults)) {
		switch {
		case !slices.Contains(kinds, kind):
			v.add("images.defaults."+kind, "unknown kind of script, expected python or sh")
		case c.Images.Defaults[kind] == "":
			v.add("images.defaults."+kind, "expected an image")
		}
	}
}

func checkSocket(path string) string {
	switch {
	case path == "":
		return "no default without XDG_RUNTIME_DIR and HOME: set it"
	case len(path) > maxSocketPath:
		return fmt.Sprintf("the path has %d bytes, a unix socket's has at most %d", len(path), maxSocketPath)
	}
	return ""
}

func checkFolder(path string) string {
	switch {
	case path == "":
		return "no default without HOME: set it"
	case filepath.Clean(path) == "/":
		return "expected a folder of hotcell's own, not /"
	}
	return ""
}

func checkList(list []string) string {
	if len(list) > maxListed {
		return fmt.Sprintf("%d entries, at most %d are allowed", len(list), maxListed)
	}
	if slices.Contains(list, "") {
		return "an entry is empty"
	}
	return ""
}

// checkRuntime takes what an engine can have as a runtime's name.
func checkRuntime(name string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if len(name) <= 64 && strings.Trim(name, letters+"._-") == "" && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") {
		return ""
	}
	return fmt.Sprintf("expected a runtime's name, such as runsc, not %q", name)
}

func checkPull(p images.PullPolicy) string {
	if p == "" {
		return "expected missing, never or always"
	}
	if _, err := images.ParsePullPolicy(string(p)); err != nil {
		return err.Error()
	}
	return ""
}

func between(n, low, high int) string {
	if n < low || n > high {
		return fmt.Sprintf("expected a number from %d to %d, not %d", low, high, n)
	}
	return ""
}

func positive(n int64) string {
	if n < 0 {
		return "expected no less than 0"
	}
	return ""
}

// oneOf checks a word against those that work; planned are those that a later version will take.
func oneOf(s string, words []string) string {
	if slices.Contains(words, s) {
		return ""
	}
	expected := words[0]
	for i, w := range words[1:] {
		sep := ", "
		if i == len(words)-2 {
			sep = " or "
		}
		expected += sep + w
	}
	return fmt.Sprintf("expected %s, not %q", expected, s)
}

// checkOwnURL takes a URL that has no path, so that those of the doors can be put behind it.
func checkOwnURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "expected http:// or https:// and a host, with a port or not, and nothing behind it"
	}
	return ""
}
