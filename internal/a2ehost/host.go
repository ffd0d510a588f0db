package a2ehost

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// The two ways in which a failed call is answered (protocols decision 6).
const (
	ErrorsAsResp    = "resp"    // skill/call/resp with both error and data
	ErrorsAsMessage = "message" // an error message, as upstream's client expects
)

// Options are what a [Host] works with. Handler is required; a zero value elsewhere means the default that its comment
// names.
type Options struct {
	Handler a2e.Handler
	Auth    auth.Authenticator // nil: nobody has to show anything, and nobody is known
	Door    string             // for [a2e.Caller]: "stdio" or "socket"; "": socket
	Version string             // hotcell's own, told in the handshake; "": not told

	MaxParallel  int           // calls that run at once in one session; 0: 16
	MaxWaiting   int           // requests that wait for their turn in one session before it is no longer read; 0: 64
	MaxLine      int           // bytes; 0: [a2e.MaxLine]
	MaxSessions  int           // connections at once; 0: 128
	Buffered     int           // bytes that the unfinished lines of all sessions hold together; 0: 64 MiB, at least MaxLine
	LineTimeout  time.Duration // for a line from its first byte to its last; 0: 60s
	IdleTimeout  time.Duration // a connection that is idle for longer makes room when there are too many; 0: 60s
	WriteTimeout time.Duration // a reader that takes no line for so long has hung up; 0: 30s
	FlushTimeout time.Duration // the same while the session is being cancelled; 0: 5s
	ErrorsAs     string        // ErrorsAsResp or ErrorsAsMessage; "": ErrorsAsResp

	InputEnded func() // is told that the peer of a stream sends nothing more, which calls in flight outlive; nil: nobody

	Log *slog.Logger // nil: none
}

// Host serves A2E sessions. It is safe for concurrent use.
type Host struct {
	opt     Options
	started time.Time
	memory  *budget
}

// New makes a host. It fails when there is no handler or an option has no meaning.
func New(opt Options) (*Host, error) {
	if opt.Handler == nil {
		return nil, errors.New("a2e host: no handler")
	}
	switch opt.ErrorsAs {
	case "":
		opt.ErrorsAs = ErrorsAsResp
	case ErrorsAsResp, ErrorsAsMessage:
	default:
		return nil, fmt.Errorf("a2e host: errors: expected %q or %q, got %q", ErrorsAsResp, ErrorsAsMessage, opt.ErrorsAs)
	}
	if min(opt.MaxParallel, opt.MaxWaiting, opt.MaxLine, opt.MaxSessions, opt.Buffered) < 0 ||
		min(opt.LineTimeout, opt.IdleTimeout, opt.WriteTimeout, opt.FlushTimeout) < 0 {
		return nil, errors.New("a2e host: a limit is negative")
	}
	opt.fill()
	return &Host{opt: opt, started: time.Now(), memory: newBudget(opt.Buffered)}, nil
}

func (opt *Options) fill() {
	orDefault(&opt.Door, "socket")
	orDefault(&opt.MaxParallel, 16)
	orDefault(&opt.MaxWaiting, 64)
	orDefault(&opt.MaxLine, a2e.MaxLine)
	orDefault(&opt.MaxSessions, 128)
	orDefault(&opt.Buffered, 64<<20)
	opt.Buffered = max(opt.Buffered, opt.MaxLine) // one line alone always finds room
	orDefault(&opt.LineTimeout, time.Minute)
	orDefault(&opt.IdleTimeout, time.Minute)
	orDefault(&opt.WriteTimeout, 30*time.Second)
	orDefault(&opt.FlushTimeout, 5*time.Second)
	orDefault(&opt.Log, slog.New(slog.DiscardHandler))
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
