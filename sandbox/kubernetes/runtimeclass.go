package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hotcell/hotcell/sandbox"
)

const runtimeClasses = "/apis/node.k8s.io/v1/runtimeclasses"

// classKnown refuses a runtime class that the cluster does not have, before anything is made. Who asks may have made it a
// moment ago: then it is looked for again. Where the classes may not be listed, the cluster refuses the pod.
func (d *Driver) classKnown(ctx context.Context, class string, f *facts) error {
	if class == "" || !f.listed || slices.Contains(f.caps.Runtimes, class) {
		return nil
	}
	f, err := d.learn(ctx, time.Nanosecond)
	if err != nil || !f.listed || slices.Contains(f.caps.Runtimes, class) {
		return err
	}
	return unknownClass(d.api.host, class, f.caps.Runtimes)
}

// unknownClass is for whoever can name those that there are ([sandbox.Capabilities]).
func unknownClass(host, class string, known []string) error {
	if len(known) == 0 {
		return unsupported("runtime class %q: the cluster at %s has none at all", class, host)
	}
	return unsupported("runtime class %q: the cluster at %s has no such class", class, host)
}

// classRefused turns a cluster's refusal of a class that nobody could look for into one that the contract knows.
func classRefused(class string, err error) error {
	if class == "" || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "RuntimeClass") {
		return err
	}
	return fmt.Errorf("runtime class %q: %s: %w", class, words(err), sandbox.ErrUnsupported)
}
