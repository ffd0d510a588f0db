package instance

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// How supervisors that share a database tell the living from the dead. All times between beats are by the database's clock.
const (
	beatEvery = time.Second
	// DeadAfter is how long one must have been silent to be declared dead.
	DeadAfter = 8 * time.Second
	// wellAfter is how long the one who declares it must have beaten without a pause: after an outage of the database
	// everybody has been silent, and nobody is dead.
	wellAfter = 6 * time.Second
	longPause = 3 * time.Second
)

// Leases are the rows of supervisors in a database that they share.
type Leases interface {
	Enroll(ctx context.Context, id, host string) error
	// Beat says that a supervisor lives, tells of all, and reports whether it still counts as alive itself.
	Beat(ctx context.Context, id string, tell func(id string, silent time.Duration, dead bool)) (alive bool, err error)
	// Declare declares one dead that has been silent for so long.
	Declare(ctx context.Context, id string, silent time.Duration) (bool, error)
	Leave(ctx context.Context, id string) error
}

// Member is an Instance that others know by its lease, too. Its methods are safe for concurrent use.
type Member struct {
	*Instance
	leases Leases
	log    *slog.Logger

	deaths chan struct{} // buffered: somebody was declared dead
	lost   chan struct{} // closed once this one was
	stop   context.CancelFunc
	loop   sync.WaitGroup

	mu    sync.Mutex
	peers map[string]bool      // whether they are dead
	gone  map[string]time.Time // since when nothing is left of a dead one
}

// Join enrolls an instance and beats until it is closed, which closes the instance.
func Join(ctx context.Context, i *Instance, l Leases, host string, log *slog.Logger) (*Member, error) {
	if err := l.Enroll(ctx, i.ID(), host); err != nil {
		return nil, err
	}
	m := &Member{
		Instance: i, leases: l, log: log, deaths: make(chan struct{}, 1), lost: make(chan struct{}),
		peers: map[string]bool{}, gone: map[string]time.Time{},
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{}
	m.beat(ctx, w)
	m.loop.Go(func() { m.run(ctx, w) })
	return m, nil
}

// Deaths tells that others were declared dead since the last look.
func (m *Member) Deaths() <-chan struct{} { return m.deaths }

// Lost is closed once others have declared this supervisor dead: its calls are closed, and it has to go.
func (m *Member) Lost() <-chan struct{} { return m.lost }

// watch is what the loop remembers.
type watch struct {
	last, since time.Time // of beats that came through: the last one, and the first of those without a pause
	failing     bool
}

func (m *Member) run(ctx context.Context, w *watch) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !m.beat(ctx, w) {
			close(m.lost)
			return
		}
	}
}

// beat beats once and declares dead who is. It reports whether this supervisor still counts as alive.
func (m *Member) beat(ctx context.Context, w *watch) bool {
	var silent []string
	peers := map[string]bool{}
	alive, err := m.leases.Beat(ctx, m.ID(), func(id string, quiet time.Duration, dead bool) {
		peers[id] = dead
		if !dead && quiet >= DeadAfter && id != m.ID() {
			silent = append(silent, id)
		}
	})
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil:
		if !w.failing {
			m.log.Warn("the store did not take the beat of this supervisor", "error", err)
		}
		w.failing = true
		return true
	case !alive:
		m.log.Error("other supervisors have declared this one dead, since it was silent for too long: they have closed its calls")
		return false
	}
	now := time.Now()
	if w.failing = false; now.Sub(w.last) > longPause {
		w.since = now
	}
	if w.last = now; now.Sub(w.since) >= wellAfter {
		for _, id := range silent {
			if did, err := m.leases.Declare(ctx, id, DeadAfter); err == nil && did {
				peers[id] = true
				m.log.Warn("a supervisor was silent for too long and is declared dead", "instance", id, "after", DeadAfter)
			}
		}
	}
	m.learn(peers)
	return true
}

func (m *Member) learn(peers map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, dead := range peers {
		if dead && !m.peers[id] {
			select {
			case m.deaths <- struct{}{}:
			default:
			}
		}
	}
	m.peers = peers
}

// Alive reports whether a supervisor lives. One that was declared dead does not, whatever its lock says: its calls have been
// closed.
func (m *Member) Alive(id string) (alive, known bool) {
	m.mu.Lock()
	dead, enrolled := m.peers[id]
	m.mu.Unlock()
	if dead && id != m.ID() {
		return false, true
	}
	if alive, known := m.Instance.Alive(id); known || !enrolled {
		return alive, known
	}
	return true, true
}

// Living returns how many supervisors share the database and live.
func (m *Member) Living() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, dead := range m.peers {
		if !dead {
			n++
		}
	}
	return max(1, n)
}

// Forget is [Instance.Forget], for those in the database, too.
func (m *Member) Forget(left func(id string) bool) error {
	errs := []error{m.Instance.Forget(left)}
	now := time.Now()
	m.mu.Lock()
	var old []string
	for id, dead := range m.peers {
		switch since, noted := m.gone[id]; {
		case !dead || left(id):
			delete(m.gone, id)
		case !noted:
			m.gone[id] = now
		case now.Sub(since) > mourning:
			old = append(old, id)
			delete(m.gone, id)
		}
	}
	m.mu.Unlock()
	for _, id := range old {
		errs = append(errs, m.leases.Leave(context.Background(), id))
	}
	return errors.Join(errs...)
}

// Close leaves, and closes the instance. A supervisor that was declared dead stays on record.
func (m *Member) Close() error {
	m.stop()
	m.loop.Wait()
	var err error
	select {
	case <-m.lost:
	default:
		err = m.leases.Leave(context.Background(), m.ID())
	}
	return errors.Join(err, m.Instance.Close())
}
