package sandbox

import (
	"context"
	"errors"
	"io"
	"time"
)

// The errors that drivers wrap, so that a failure can be classified without knowing the driver.
var (
	// ErrUnsupported: the engine cannot enforce or provide something that the spec asks for.
	ErrUnsupported = errors.New("not supported by this sandbox driver")
	// ErrUnavailable: the engine cannot be reached or does not answer.
	ErrUnavailable = errors.New("sandbox engine is not available")
	// ErrNotFound: the engine does not know what was asked for.
	ErrNotFound = errors.New("not found")
	// ErrStartFailed: the engine refused to start the cell's process; see [StartError].
	ErrStartFailed = errors.New("cell did not start")
	// ErrTooMuch: the cell said more, over its streams and all that goes through them, than the driver carries.
	ErrTooMuch = errors.New("more than this sandbox driver carries")
)

// StartError says why a cell's first process did not start. It wraps [ErrStartFailed].
type StartError struct {
	ExitCode int    // 126 not executable, 127 not found, 0 when the engine gave none
	OOM      bool   // the engine says that memory ran out while starting
	Message  string // the engine's words, one line
}

// Error returns the engine's words.
func (e *StartError) Error() string { return ErrStartFailed.Error() + ": " + e.Message }

// Unwrap returns [ErrStartFailed].
func (e *StartError) Unwrap() error { return ErrStartFailed }

// Driver makes cells. It is safe for concurrent use.
type Driver interface {
	// Name is the driver's word in configuration and metrics.
	Name() string

	// Capabilities asks the engine what it is and can do. It fails with ErrUnavailable where no engine answers.
	Capabilities(ctx context.Context) (Capabilities, error)

	// Create makes a cell that has not started. It fails with ErrUnsupported, ErrUnavailable or ErrNotFound (the
	// image) and leaves nothing behind when it fails.
	Create(ctx context.Context, spec *Spec) (Sandbox, error)

	// List returns all that carries hotcell's labels on this engine, of every instance and in every state.
	List(ctx context.Context) ([]Listed, error)

	// Remove destroys a listed thing by its id, with all that belongs to it. It is idempotent.
	Remove(ctx context.Context, id string) error

	// Close releases the driver's own connections. Cells are not touched.
	Close() error
}

// Pinger is a driver that can ask its engine afresh whether it still answers. Ping fails with ErrUnavailable within a few
// seconds where it does not.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Checker is a driver whose cells rely on what an operator has made beforehand. Check fails with ErrUnsupported where that is
// not as it has to be, and with ErrUnavailable where nobody can tell.
type Checker interface {
	Check(ctx context.Context) error
}

// Pool is a driver that starts cells ahead of their calls, for specs that have a Key.
type Pool interface {
	// Lease returns a cell that waits under key and has started, and its name. It is nil when none waits, and asks no
	// engine.
	Lease(key string) (box Sandbox, name string)
	// Keeps reports whether the cell of that name was started ahead and is not destroyed yet, leased or not.
	Keeps(name string) bool
	// Drain destroys the cells that wait, and starts no more.
	Drain()
}

// Waited is a [Sandbox] that was started ahead. A [Pool] may give one for a spec, where one has become ready since: then
// the spec's own name is nobody's.
type Waited interface {
	Waited() (name string)
}

// Shortener is a [Sandbox] that can have its stdin take a shorter way than through its engine.
type Shortener interface {
	// Shorten has it do that, where it can, before anything is written. It takes its time: it is for cells that wait.
	Shorten()
}

// Capabilities are facts about an engine.
type Capabilities struct {
	Engine   string   // "docker 20.10.24"
	OS       string   // "linux"
	Arch     string   // GOARCH words: "amd64", "arm64"
	Runtimes []string // names that Spec.Runtime may have
	CPUs     int
	Memory   int64 // bytes

	// OwnUsers: each cell is a user of its own, whichever one its spec names. Then specs may share one.
	OwnUsers bool

	// Unenforced are the words of the controls that its cells are without, which the operator has accepted.
	Unenforced []string
}

// Sandbox is one cell. Methods are safe for concurrent use.
type Sandbox interface {
	// ID is the engine's id of the cell.
	ID() string

	// Start starts the first process. Output that it writes at once is not lost. A failure is a *StartError, or wraps
	// ErrUnavailable.
	Start(ctx context.Context) error

	// Stdio returns the cell's streams. Stdout ends with io.EOF only after the stream's orderly end; a stream that was
	// cut in the middle ends with io.ErrUnexpectedEOF. Closing Stdin delivers EOF to the process.
	Stdio() Stdio

	// Wait blocks until the cell has stopped and returns how. It may be called by several goroutines and after the end. Where
	// that is not known it fails with ErrUnavailable, or with ErrTooMuch where the driver ended the cell for what it said.
	Wait(ctx context.Context) (Exit, error)

	// Kill ends all of the cell's processes with SIGKILL. Killing a cell that has stopped succeeds.
	Kill(ctx context.Context) error

	// Destroy kills the cell if it runs, removes it and closes its streams. It is idempotent.
	Destroy(ctx context.Context) error
}

// Stdio is the three streams of a cell. A caller reads Stdout and Stderr to their ends.
type Stdio struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	Stderr io.Reader

	// Takes is how many bytes Stdin takes from a first writer without waiting for anybody to read them. 0: none are promised.
	Takes int
	// Settles is how long Wait may take from the end of Stdout on, where an engine hears of ends by and by. 0: it follows at once.
	Settles time.Duration
}

// Divertible is a Stdout or Stderr that hands on what the cell says while nobody reads it, so that nobody needs to: it holds
// nothing then, and its writer never waits.
type Divertible interface {
	io.Reader
	// Divert hands what has come and what comes to heard, and tells ended of the stream's end, until Restore. Neither may wait for
	// the cell's own end, or destroy it.
	Divert(heard func(p []byte), ended func())
	// Restore ends it at once: who reads gets first, and then what the cell says from now on. It reports false where the stream has
	// ended before.
	Restore(first []byte) bool
}

// Interruptible is a Stdout or Stderr whose reader can be called off, so that another one takes over before anything comes.
type Interruptible interface {
	// Interrupt on has the Read that waits for the cell to say something, and each one that would have to, return
	// [os.ErrDeadlineExceeded], until it is off. Nothing is lost.
	Interrupt(on bool)
}

// Exit is how a cell ended, as its engine saw it.
type Exit struct {
	Code     int       // the engine's exit code; 137 alone proves nothing
	Evidence Evidence  // facts beside the code
	At       time.Time // when it was seen
}

// Evidence are the facts about an end that do not come from the cell itself.
type Evidence struct {
	OOMKilled  bool   // a process of the cell was killed because the cell's own memory limit was hit
	Pressure   bool   // one was killed because memory ran out above the cell, which itself kept within its limit
	Confidence string // where OOMKilled and Pressure come from: one of the Confidence constants
	Error      string // the engine's own error text
	Usage      Usage  // what the cell used, as far as it could be read
}

// How far [Evidence] can be trusted, best first.
const (
	ConfidenceKernel = "kernel" // counters of a cgroup around the cell, which outlives the cell: the truth
	ConfidenceEngine = "engine" // the engine's word, which it can lose
	ConfidenceRunner = "runner" // what the runner counted within the cell, under the skill's own uid
	ConfidenceNone   = "none"   // nobody could be asked
)

// Usage is what a cell used from its start. A zero field was not measured.
type Usage struct {
	MemoryPeak int64         // bytes, tmpfs included
	CPU        time.Duration // processor time, user and system
	Throttled  time.Duration // time in which the processor limit held its threads back
	PIDsPeak   int
}

// Lenient is a [Sandbox] of a driver that may lack controls.
type Lenient interface {
	// Unenforced are the words of the controls that this cell is without, which the operator has accepted.
	Unenforced() []string
}

// Unenforced are the controls that a cell is without; none for one that is no [Lenient].
func Unenforced(box Sandbox) []string {
	if l, ok := box.(Lenient); ok {
		return l.Unenforced()
	}
	return nil
}

// Witness is a [Sandbox] around which the host itself can look. Evidence takes a few file reads and asks no engine; it
// may be called from Start until Destroy, and is complete once the cell has stopped. Its Confidence is
// [ConfidenceKernel], or [ConfidenceNone] where the host could not look after all.
type Witness interface {
	Evidence() Evidence
}

// Listed is something with hotcell's labels on it.
type Listed struct {
	ID      string
	Kind    string // "cell", "fill", "volume", "cgroup", "instance"
	Name    string
	Tree    string // of a volume: the name of the tree that it holds; "": that is not known
	State   string // the engine's word: created, running, exited, dead, removing
	Labels  map[string]string
	Created time.Time
}
