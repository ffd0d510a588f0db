package fake

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Program is what a cell does. ctx ends when the cell is killed: reads of stdin and writes then fail, and the program must
// return soon. What it returns is the cell's exit code, unless it was killed.
type Program func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, stderr io.Writer) int

// Faults are what goes wrong with cells. The zero value is a driver that works.
type Faults struct {
	Capabilities error                     // answer of Capabilities
	Create       func(*sandbox.Spec) error // asked before a cell is made
	Start        func(*sandbox.Spec) error // asked before a program runs; best a *sandbox.StartError

	KillBlocks   bool // Kill does nothing and returns when its context ends
	DestroyFails int  // so many calls of Destroy of each cell fail and leave it as it is
	CutStdout    int  // stdout ends with io.ErrUnexpectedEOF after so many bytes; 0 for never
	EngineGone   bool // Wait fails with ErrUnavailable once the program has ended or was killed
	OOMKilled    bool // Wait says so, with confidence "engine"

	Settles      time.Duration // Wait says how a cell ended so long after the end of its output, and its Stdio that it may
	CreateLeaks  bool          // a Create that fails because of Faults.Create leaves a cell that List shows
	StartsAnyhow bool          // a Start that fails because of Faults.Start runs the program all the same
}

// Stats count what became of cells.
type Stats struct {
	Created   int // by Create, without error
	Started   int // programs that ran
	Destroyed int // cells that are gone, by Destroy or Remove
	Live      int // made and not destroyed
}

// Driver is the fake. Its methods are safe for concurrent use.
type Driver struct {
	program  Program
	instance string

	mu     sync.Mutex
	faults Faults
	caps   sandbox.Capabilities
	stats  Stats
	cells  map[string]*cell
	serial int
}

var _ sandbox.Driver = (*Driver)(nil)

// New makes a driver whose cells run program, with an amd64 Linux of 2 processors and 8 GiB.
func New(program Program) *Driver {
	return &Driver{
		program: program, instance: "fake", cells: make(map[string]*cell),
		caps: sandbox.Capabilities{Engine: "fake 1", OS: "linux", Arch: "amd64", Runtimes: []string{"fake"}, CPUs: 2, Memory: 8 << 30},
	}
}

// SetFaults says what goes wrong from now on. A cell keeps the faults that it was created with.
func (d *Driver) SetFaults(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}

// SetCapabilities says what Capabilities answers from now on.
func (d *Driver) SetCapabilities(c sandbox.Capabilities) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caps = c
}

// SetInstance says which instance the cells made from now on are labelled with.
func (d *Driver) SetInstance(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.instance = id
}

// Stats returns the counts so far.
func (d *Driver) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// Name returns "fake".
func (d *Driver) Name() string { return "fake" }

// Capabilities returns what New or SetCapabilities set.
func (d *Driver) Capabilities(ctx context.Context) (sandbox.Capabilities, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.faults.Capabilities != nil {
		return sandbox.Capabilities{}, d.faults.Capabilities
	}
	caps := d.caps
	caps.Runtimes = slices.Clone(caps.Runtimes)
	return caps, ctx.Err()
}

// Create makes a cell. It refuses the specs that each driver refuses.
func (d *Driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(spec); err != nil {
		return nil, err
	}
	d.mu.Lock()
	faults := d.faults
	d.mu.Unlock()
	if faults.Create != nil {
		if err := faults.Create(spec); err != nil {
			if faults.CreateLeaks {
				d.add(spec, faults)
			}
			return nil, err
		}
	}
	c := d.add(spec, faults)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Created++
	return c, nil
}

func (d *Driver) add(spec *sandbox.Spec, faults Faults) *cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serial++
	labels := maps.Clone(spec.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[sandbox.LabelManaged], labels[sandbox.LabelKind], labels[sandbox.LabelInstance] = "1", "cell", d.instance
	c := newCell(d, fmt.Sprintf("fake-%d", d.serial), spec, labels, faults)
	d.cells[c.id] = c
	d.stats.Live++
	return c
}

// drop forgets a cell.
func (d *Driver) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.cells[id]; !ok {
		return
	}
	delete(d.cells, id)
	d.stats.Live--
	d.stats.Destroyed++
}

// List returns the cells that are not destroyed.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []sandbox.Listed
	for _, c := range d.cells {
		all = append(all, sandbox.Listed{
			ID: c.id, Kind: "cell", Name: c.spec.Name, State: c.state(), Labels: maps.Clone(c.labels), Created: c.created,
		})
	}
	slices.SortFunc(all, func(a, b sandbox.Listed) int { return strings.Compare(a.ID, b.ID) })
	return all, ctx.Err()
}

// Remove destroys a cell by its id, faults or not.
func (d *Driver) Remove(ctx context.Context, id string) error {
	d.mu.Lock()
	c := d.cells[id]
	d.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.end(ctx)
}

// Close does nothing.
func (d *Driver) Close() error { return nil }

// check refuses what no driver makes.
func check(spec *sandbox.Spec) error {
	if spec.OCI == nil || spec.OCI.Process == nil || spec.OCI.Linux == nil {
		return fmt.Errorf("spec of %q: process and linux must be set: %w", spec.Name, sandbox.ErrUnsupported)
	}
	for _, m := range spec.OCI.Mounts {
		if m.Type != "tmpfs" {
			return fmt.Errorf("mount %s of type %q: %w", m.Destination, m.Type, sandbox.ErrUnsupported)
		}
	}
	if caps := spec.OCI.Process.Capabilities; caps != nil && len(caps.Bounding)+len(caps.Effective)+len(caps.Permitted)+len(caps.Inheritable)+len(caps.Ambient) > 0 {
		return fmt.Errorf("process.capabilities: %w", sandbox.ErrUnsupported)
	}
	if spec.OCI.Hooks != nil {
		return fmt.Errorf("hooks: %w", sandbox.ErrUnsupported)
	}
	network := func(ns specs.LinuxNamespace) bool { return ns.Type == specs.NetworkNamespace && ns.Path == "" }
	if !slices.ContainsFunc(spec.OCI.Linux.Namespaces, network) {
		return fmt.Errorf("linux.namespaces: no network namespace: %w", sandbox.ErrUnsupported)
	}
	return nil
}
