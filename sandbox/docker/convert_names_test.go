package docker

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/sandbox"
)

func TestTheTreeOfAVolume(t *testing.T) {
	digest := strings.Repeat("0af", 22)[:64]
	for _, name := range []string{sandbox.TreeBundle, sandbox.TreeCustom, "runner", "a-b"} {
		if got := treeOf(volumeName(sandbox.Tree{Name: name, Digest: digest})); got != name {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, other := range []string{"", "hotcell-", "hotcell-x", "other-bundle-0af"} {
		if got := treeOf(other); got != "" {
			t.Errorf("%q: %q", other, got)
		}
	}
}
