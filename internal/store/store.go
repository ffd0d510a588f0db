package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
)

// Keep says how long things are kept. A zero length of Events or Artifacts means that none are kept at all, one of Calls
// that they are kept however old.
type Keep struct {
	Calls     time.Duration // ended calls, their answers and what they used, from their acceptance
	Events    time.Duration // from when they were said
	Artifacts time.Duration // the same for the pieces of files that a call left
	Max       int64         // bytes of the file in use; 0: no bound
	Audit     time.Duration // rows of the audit; 0: however old
	AuditMax  int64         // bytes of them; 0: no bound
	// Replay is how long a call is kept after its end, whatever Max says, so that a request that is sent again finds its answer.
	Replay time.Duration
}

// Options shape a [Store].
type Options struct {
	Path string // of SQLite's file; its folder is there
	URL  string // of a Postgres database, instead of Path: it may hold a password
	Sync string // off, normal or full; "": normal
	Keep Keep
	Key  string // path of the file with the key that seals the audit, which is made where there is none; "": no seals
	// Secret is the text of that key, where it is kept elsewhere: then Key does not count.
	Secret []byte
	// ReadKey: where there is no key, none is made.
	ReadKey bool
	Now     func() time.Time // nil: time.Now
	Watch   Observer         // nil: nobody
	Log     *slog.Logger     // nil: none
}

// Observer is told of what is written. Its methods must return at once.
type Observer interface {
	Wrote(took time.Duration, err error) // a transaction
	Lost(n int)                          // events and audit entries that are not journalled
}

type blind struct{}

func (blind) Wrote(time.Duration, error) {}
func (blind) Lost(int)                   {}

// Store is an open journal. It is safe for concurrent use. Its owner closes it once nothing uses it any more.
type Store struct {
	engine engine
	keep   Keep
	now    func() time.Time
	log    *slog.Logger
	page   int // bytes of events in one answer
	stuck  time.Duration
	key    audit.Key
	watch  Observer

	write    *sql.DB // one connection
	read     *sql.DB
	intake   *intake   // nil: calls are written at once
	asker    *sql.Conn // of read, with the intake: whoever accepts waits for no other reader
	before   *sql.Stmt // on asker: finds earlier calls
	company  *company  // with the intake
	stmts    statements
	leases   *Leases // nil for a file
	queue    *queue
	loop     sync.WaitGroup
	meter    meter
	policies policyRows

	// What the writer has not told the log yet.
	lost     int // events
	lostTo   error
	lamented time.Time
	moaned   time.Time // when it told of the intake
	unpoured error     // why not all that waits in the intake is in the transaction
}

const readers = 4 // connections at once

// Open opens the journal, and makes or migrates its file where that is needed. An error says which file and what to do.
func Open(ctx context.Context, opts Options) (*Store, error) {
	e, err := engineOf(opts)
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, keep: opts.Keep, now: opts.Now, log: opts.Log, page: pageLen, stuck: stuckLimit, watch: opts.Watch, queue: newQueue()}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.watch == nil {
		s.watch = blind{}
	}
	unlock, err := e.lock(ctx)
	if err != nil {
		return nil, explain(s.engine, err)
	}
	defer unlock()
	if err := s.openPatiently(ctx, cmp.Or(opts.Sync, "normal")); err != nil {
		return nil, explain(s.engine, err)
	}
	made := false
	if s.key, made, err = keyOf(opts); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	s.warnOfKeys(ctx)
	s.loop.Go(s.run)
	if err := s.flush(ctx); err != nil {
		return nil, errors.Join(explain(s.engine, err), s.Close())
	}
	if made {
		if err := s.noteKey(ctx); err != nil {
			return nil, errors.Join(explain(s.engine, err), s.Close())
		}
	}
	return s, nil
}

func engineOf(opts Options) (engine, error) {
	if opts.URL != "" {
		return newPostgres(opts.URL)
	}
	e := &sqliteEngine{path: opts.Path}
	if err := prepare(opts.Path); err != nil {
		return nil, explain(e, err)
	}
	return e, nil
}

// openPatiently opens the file as soon as nobody closes it any more: who closes it last holds it for a moment, and waiting
// for that is not SQLite's own business.
func (s *Store) openPatiently(ctx context.Context, sync string) error {
	for limit := time.Now().Add(busyLimit); ; time.Sleep(10 * time.Millisecond) {
		err := s.open(ctx, sync)
		if err == nil {
			return nil
		}
		_ = s.closeFiles() // the error that counts is the one before
		s.stmts, s.intake, s.asker, s.before = statements{}, nil, nil, nil
		if !s.engine.busy(err) || time.Now().After(limit) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) open(ctx context.Context, sync string) (err error) {
	if s.write, s.read, err = s.engine.connect(ctx, sync); err != nil {
		return err
	}
	if db := s.engine.beats(); db != nil {
		s.leases = &Leases{db}
	}
	if err := s.stmts.prepare(ctx, s.write, s.leases != nil); err != nil {
		return err
	}
	path := s.engine.intake()
	if path == "" {
		return nil
	}
	if s.asker, err = s.read.Conn(ctx); err != nil {
		return err
	}
	if s.before, err = s.asker.PrepareContext(ctx, selectEarlier); err != nil {
		return err
	}
	s.company = newCompany(s.keep.Replay)
	if s.intake, err = openIntake(ctx, path, sync == "full", s.company.came); err != nil || s.waits() {
		return err
	}
	var one int
	err = s.read.QueryRowContext(ctx, `SELECT 1 FROM calls LIMIT 1`).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		s.company.alone()
		return nil
	}
	return err
}

// Close writes what waits and lets the file go. What comes later is refused with [ErrClosed].
func (s *Store) Close() error {
	_ = s.flush(context.Background()) // or the next one takes over what waits
	s.queue.close()
	s.loop.Wait()
	return s.closeFiles()
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.intake != nil { // after that nobody asks
		errs = append(errs, s.intake.close())
	}
	if s.before != nil {
		errs = append(errs, s.before.Close())
	}
	if s.asker != nil {
		if err := s.asker.Close(); !errors.Is(err, sql.ErrConnDone) { // it was closed before
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.stmts.close())
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.leases != nil {
		errs = append(errs, s.leases.db.Close())
	}
	return errors.Join(errs...)
}
