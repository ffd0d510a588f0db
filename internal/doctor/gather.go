package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/sandbox"
)

// How long questions may take.
const (
	totalLimit = 22 * time.Second // all together
	askLimit   = 8 * time.Second  // the engine, for facts and lists
	cellLimit  = 16 * time.Second // the cell, from its image to its end
	grace      = 4 * time.Second  // for who was told to stop, to tidy up
)

var errTotal = errors.New("the time for all checks was used up")

// Sources are the ways to ask. None of them has to keep to its context's deadline: who does not is left behind.
type Sources struct {
	Engine  func(context.Context) (sandbox.EngineFacts, error)
	Host    func(ctx context.Context, engineRoot string) Host // engineRoot: "" where the engine is not on this host
	Image   func(ctx context.Context, ref string) Image
	Pins    func(context.Context) (Pins, error)            // nil: not asked
	Cell    func(ctx context.Context, images []Image) Cell // one cell, in one of the images that are there
	Groups  func(ctx context.Context) string               // why there are no cgroups around cells; asked after the cell
	Things  func(context.Context) ([]sandbox.Listed, error)
	Volumes func(context.Context) (map[string]int64, error)
	Owners  func() ([]instance.Info, error)

	Direct       func(context.Context) Direct                    // what there is to do without an engine; nil: not asked
	DirectThings func(context.Context) ([]sandbox.Listed, error) // cells of the driver oci, where that is not the one; nil: not asked
}

// Gather asks everything. It takes less than half a minute, whatever an engine does.
func Gather(ctx context.Context, set Settings, from Sources) Facts {
	ctx, cancel := context.WithTimeoutCause(ctx, totalLimit, errTotal)
	defer cancel()
	f := Facts{Settings: set}
	f.direct(ctx, from)
	asked := time.Now()
	engine, err := bounded(ctx, askLimit, from.Engine)
	if err != nil {
		f.NoEngine = err.Error()
		f.Host = from.Host(ctx, "")
		f.owners(from)
		return f
	}
	f.Engine = &engine
	if !engine.Clock.IsZero() {
		f.Skew = engine.Clock.Sub(asked.Add(engine.Took / 2)).Round(time.Millisecond)
	}
	f.Host = from.Host(ctx, "")
	if f.local() {
		f.Host = from.Host(ctx, engine.Root)
	}
	// What is left is looked at before a cell of our own is there.
	f.left(ctx, from)
	f.images(ctx, from)
	f.pins(ctx, from)
	f.cell(ctx, from)
	f.NoGroups, err = bounded(ctx, askLimit, func(ctx context.Context) (string, error) { return from.Groups(ctx), nil })
	if err != nil {
		f.NoGroups = reason(err)
	}
	return f
}

// direct looks for what could make cells without an engine, and for what it has left.
func (f *Facts) direct(ctx context.Context, from Sources) {
	if from.Direct != nil {
		found, err := bounded(ctx, askLimit, func(ctx context.Context) (Direct, error) { return from.Direct(ctx), nil })
		f.Direct = found
		f.Direct.Asked = err == nil
	}
	if from.DirectThings != nil {
		things, err := bounded(ctx, askLimit/2, from.DirectThings)
		f.Left.Direct = things
		if err != nil {
			f.Left.DirectFailed = reason(err)
		}
	}
}

func (f *Facts) owners(from Sources) {
	f.Left.At = time.Now()
	owners, err := from.Owners()
	f.Left.Owners = owners
	if err != nil {
		f.Left.NoOwners = reason(err)
	}
}

func (f *Facts) left(ctx context.Context, from Sources) {
	f.owners(from)
	var both sync.WaitGroup
	both.Go(func() {
		things, err := bounded(ctx, askLimit, from.Things)
		f.Left.Things = things
		if err != nil {
			f.Left.Failed = reason(err)
		}
	})
	both.Go(func() {
		if sizes, err := bounded(ctx, askLimit/2, from.Volumes); err == nil {
			f.Left.Bytes = sizes
		}
	})
	both.Wait()
}

func (f *Facts) images(ctx context.Context, from Sources) {
	kinds := make([]string, 0, len(f.Settings.Images))
	for kind := range f.Settings.Images {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	asked := map[string]Image{}
	for _, kind := range kinds {
		ref := f.Settings.Images[kind]
		img, before := asked[ref]
		if !before {
			var err error
			img, err = bounded(ctx, askLimit, func(ctx context.Context) (Image, error) { return from.Image(ctx, ref), nil })
			if err != nil {
				img.Failed = reason(err)
			}
			asked[ref] = img
		}
		img.Kind, img.Ref = kind, ref
		f.Images = append(f.Images, img)
	}
}

// reason is an error without the category that drivers put behind their own words.
func reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+sandbox.ErrUnavailable.Error())
}

func (f *Facts) cell(ctx context.Context, from Sources) {
	if ctx.Err() != nil {
		f.Cell = Cell{Skipped: context.Cause(ctx).Error(), Hint: "see what the other checks waited for"}
		return
	}
	cell, err := bounded(ctx, cellLimit, func(ctx context.Context) (Cell, error) { return from.Cell(ctx, f.Images), nil })
	if err != nil {
		cell = Cell{Failed: reason(err)}
	}
	f.Cell = cell
}

// local reports whether the engine is on this host. A socket alone does not say so: it may lead into a virtual machine or
// to another host.
func (f *Facts) local() bool {
	e := f.Engine
	if f.Settings.Driver == DriverOCI {
		return e != nil
	}
	return e != nil && unixAddress(e.Address) && e.Host != "" && e.Host == f.Host.Name && e.Kernel == f.Host.Kernel
}

// bounded asks, and stops to wait soon after the limit, or after ctx has ended.
func bounded[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	op, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got := make(chan answer, 1)
	go func() {
		value, err := ask(op)
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		return a.value, a.err
	case <-op.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case a := <-got:
		return a.value, a.err
	case <-late.C:
	}
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	return none, fmt.Errorf("no answer within %s", limit+grace)
}
