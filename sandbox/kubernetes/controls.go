package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
)

// The controls of a spec that a pod may be without, where the operator accepts that.
const (
	// ControlSeccomp: a pod has the profile of its node's runtime (RuntimeDefault), not the spec's own.
	ControlSeccomp = "seccomp"
	// ControlNetwork: a pod has an interface in its cluster's network. Only a NetworkPolicy closes it, which a cluster
	// enforces or not.
	ControlNetwork = "network"
	// ControlPaths: a pod has the masked and read-only paths of its node's runtime, not the spec's.
	ControlPaths = "paths"
	// ControlMounts: an emptyDir in memory has a size, and no other option of a tmpfs: programs run from it, and the
	// number of its files is bounded by the cell's memory alone.
	ControlMounts = "mounts"
	// ControlPIDs: the gate bounds the processes of the cell's user on its node, which a runtime class of a kernel of its
	// own (gVisor) may not heed.
	ControlPIDs = "pids"
)

// Controls are the words that an operator may accept.
func Controls() []string {
	return []string{ControlSeccomp, ControlNetwork, ControlPaths, ControlMounts, ControlPIDs}
}

// unenforced are the accepted controls. That of the network is not missing where it is enforced.
func (d *Driver) unenforced() []string {
	var words []string
	for _, word := range Controls() {
		if d.accept[word] && (word != ControlNetwork || !d.enforced) {
			words = append(words, word)
		}
	}
	return words
}

// unsupported names what a spec asks for and this driver does not do.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sandbox.ErrUnsupported)
}

// lacks notes that the pod will be without a control.
func (c *conversion) lacks(control, why string) {
	if !slices.ContainsFunc(c.lacking, func(l lack) bool { return l.control == control }) {
		c.lacking = append(c.lacking, lack{control, why})
	}
}

type lack struct{ control, why string }

// settle refuses a pod that lacks more than is accepted.
func (c *conversion) settle() error {
	var words, whys []string
	for _, l := range c.lacking {
		if c.accept[l.control] {
			c.without = append(c.without, l.control)
			continue
		}
		words, whys = append(words, l.control), append(whys, l.control+" ("+l.why+")")
	}
	if len(words) == 0 {
		return nil
	}
	return unsupported("a pod cannot enforce %s: accept that with sandbox.accept_unenforced: [%s], or use another driver",
		strings.Join(whys, ", "), strings.Join(words, ", "))
}
