package console

import (
	"context"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// Bounds of numbers that are kept for others who ask for the same.
const (
	figureAge   = liveEvery / 2
	mostFigures = 64
)

// figures are numbers of calls that pages have in common: many that are open ask for the same at about the same time.
type figures struct {
	mu  sync.Mutex
	all map[question]*figure
}

// question is what was asked.
type question struct {
	whose control.Whose
	q     control.StatsQuery
}

// figure is its answer. Who asks while it is being made waits for it.
type figure struct {
	mu    sync.Mutex
	at    time.Time
	stats *control.Stats
}

func newFigures() *figures { return &figures{all: map[question]*figure{}} }

func (f *figures) of(asked question) *figure {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.all[asked]; one != nil {
		return one
	}
	if len(f.all) >= mostFigures {
		clear(f.all)
	}
	f.all[asked] = &figure{}
	return f.all[asked]
}

// stats are the numbers of the calls that the one who asks may see, at most a moment old. They are others', too: nobody changes
// them.
func (v *visit) stats(ctx context.Context, q control.StatsQuery) (*control.Stats, error) {
	one := v.figures.of(question{v.whose(), q})
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.stats != nil && time.Since(one.at) < figureAge {
		return one.stats, nil
	}
	s, err := v.o.Book.Stats(ctx, v.whose(), q)
	if err == nil {
		one.stats, one.at = s, time.Now()
	}
	return s, err
}

// lately is the time up to now in one piece, to the minute.
func lately(length time.Duration) control.StatsQuery {
	until := time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	return control.StatsQuery{Since: until.Add(-length), Until: until, Buckets: 1}
}
