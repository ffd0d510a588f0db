package kubernetes

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// differs are the rows of the conformance suite in which cells here differ, with the reason.
var differs = map[string]string{
	"socket AF_VSOCK": "a pod has its node's seccomp profile (accepted: `seccomp`)",
	"socket AF_ALG":   "a pod has its node's seccomp profile (accepted: `seccomp`)",
	"io_uring_setup":  "a pod has its node's seccomp profile (accepted: `seccomp`)",
	"ptrace":          "a pod has its node's seccomp profile (accepted: `seccomp`)",
	"dial outside":    "a pod's network is closed by NetworkPolicy alone, which this cluster may not enforce (accepted: `network`)",
	"interfaces":      "a pod has an interface in its cluster's network (accepted: `network`)",
	"uid":             "cells of several supervisors share a node, so that the driver gives each a number of its own",
}

// The documentation has them too, word by word.
func TestDifferencesAreDocumented(t *testing.T) {
	var want strings.Builder
	want.WriteString("| row of the conformance suite | why |\n|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(differs)) {
		fmt.Fprintf(&want, "| `%s` | %s |\n", row, differs[row])
	}
	doc, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), want.String()+"\n") {
		t.Errorf("docs/kubernetes.md does not have this table:\n%s", &want)
	}
}
