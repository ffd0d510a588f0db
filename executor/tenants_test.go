package executor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// No call has a cell of another tenant's, whether one waits or not, and one of nobody's in particular is a kind of its own.
func TestTenantsShareNoCells(t *testing.T) {
	var mu sync.Mutex
	var served []string // whose cells had requests, in order
	driver := fake.New(func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int {
		if spec.Labels[sandbox.LabelTenant] != spec.Tenant {
			t.Errorf("the label of a cell of tenant %q is %q", spec.Tenant, spec.Labels[sandbox.LabelTenant])
		}
		return program(func(ctx context.Context, req map[string]any, in *bufio.Reader, say func(string, ...any)) int {
			mu.Lock()
			served = append(served, spec.Tenant)
			mu.Unlock()
			return well(ctx, req, in, say)
		})(ctx, spec, stdin, stdout, stderr)
	})
	pool := warm.New(driver, warm.Options{Max: 3})
	super := setUp(t, nil, func(c *Config) {
		c.Driver = pool
		c.Tenant = func(who a2e.Caller) (string, error) {
			if who.Principal == "torn" {
				return "", errors.New("principal torn is of several tenants")
			}
			return who.Groups["tenant"], nil
		}
	})
	t.Cleanup(func() {
		pool.Drain()
		testutil.Poll(t, 30*time.Second, func() bool { return driver.Stats().Live == 0 })
	})
	call := func(tenant string) {
		t.Helper()
		who := a2e.Caller{Door: "test", Principal: "p-" + tenant, Groups: map[string]string{"tenant": tenant}}
		if answer := super.Call(t.Context(), who, req("free"), nil); answer.Error != nil {
			t.Fatal(answer.Error)
		}
	}
	waits := func(n int) {
		t.Helper()
		testutil.Poll(t, 30*time.Second, func() bool { return len(pool.Waiting("free")) == n })
	}
	for i, tenant := range []string{"acme", "beta", ""} { // each finds what waits for the others alone
		call(tenant)
		waits(i + 1)
	}
	if super.leases.Load() != 0 {
		t.Errorf("%d calls had a cell that waited for another tenant's", super.leases.Load())
	}
	for _, tenant := range []string{"beta", "", "acme"} {
		call(tenant)
		waits(3)
	}
	if super.leases.Load() != 3 {
		t.Errorf("%d calls had a cell that waited, expected 3", super.leases.Load())
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"acme", "beta", "", "beta", "", "acme"}; !slices.Equal(served, want) {
		t.Errorf("cells of %q had the calls of %q", served, want)
	}
	answer := super.Call(t.Context(), a2e.Caller{Door: "test", Principal: "torn"}, req("free"), nil)
	if verdict(answer) != "runtime_error/unsupported" || fmt.Sprint(answer.Error) == "" {
		t.Errorf("who is of several tenants: %s: %v", verdict(answer), answer.Error)
	}
}
