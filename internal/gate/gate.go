package gate

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/seal"
)

// The words by which the program knows what it is to be.
const (
	Flag       = "-gate"
	UnpackFlag = "-unpack"
)

// ExitHangup is the exit code of a gate whose supervisor was gone before it had heard of the end, whatever the program's is.
const ExitHangup = 1

// Exit codes of the gate itself.
const (
	exitHangup  = ExitHangup
	exitUsage   = 64  // what it said first is no hello
	exitKilled  = 137 // as by SIGKILL
	exitRefused = 126
)

// How long the gate waits.
const (
	quitGrace = 2 * time.Minute // for the supervisor to have the end, whose readers may be slow
	diesGrace = 2 * time.Second // for what was killed to be gone
)

// Config is what the gate is given.
type Config struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Protect func()                                                          // keeps this process safe from what it starts
	Runner  func(args, env []string, stdin io.Reader, stdout io.Writer) int // one life of the runner
	Exit    func(code int)                                                  // ends the program at once
	Limit   func(resource int, soft, hard uint64) error                     // nil: the kernel's
}

// gate is one life of the program.
type gate struct {
	cfg  Config
	say  *seal.Sealer
	in   *bufio.Reader
	boss bool // this is the first process of its own namespace

	goes   chan struct{} // closed when the program may start
	quits  chan struct{} // closed when the supervisor has all, or is gone
	stdin  *io.PipeWriter
	source *io.PipeReader
	feed   feed

	mu     sync.Mutex
	killed bool
	gone   bool       // the supervisor is
	group  int        // of the program's processes; 0: it does not run
	before int64      // OOM kills
	kill   chan error // closed when all is to end
}

// Serve lives one life and returns the exit code.
func Serve(cfg Config) int {
	in := bufio.NewReaderSize(cfg.Stdin, 32<<10)
	hello, err := seal.ReadHello(in)
	if err != nil {
		return exitUsage
	}
	say, err := seal.NewSealer(cfg.Stdout, hello.Key)
	clear(hello.Key)
	if err != nil {
		return exitUsage
	}
	g := &gate{
		cfg: cfg, say: say, in: in, boss: os.Getpid() == 1, goes: make(chan struct{}), quits: make(chan struct{}),
		kill: make(chan error), before: oomKills(),
	}
	g.source, g.stdin = io.Pipe()
	raiseOOMScore(hello.OOMScore)
	fault := g.limit(hello.Limits)
	cfg.Protect()
	if say.Say(seal.Up, nil) != nil {
		return exitHangup
	}
	go g.listen()
	select {
	case <-g.goes:
	case <-g.kill:
		return g.end(exitKilled)
	case <-g.quits:
		return exitHangup
	}
	if fault != nil {
		return g.fail(&seal.Failure{Code: exitRefused, Message: fault.Error()})
	}
	code := g.life(hello)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return exitHangup
	}
	return code
}

func (g *gate) life(hello seal.Hello) int {
	if hello.Runner {
		return g.runner(hello)
	}
	return g.program(hello)
}

// runner is the runner itself, in this process.
func (g *gate) runner(h seal.Hello) int {
	if g.say.Say(seal.Started, nil) != nil {
		return exitHangup
	}
	code := make(chan int, 1)
	go func() { code <- g.cfg.Runner(h.Args, h.Env, g.source, g.say.Stream(seal.Stdout)) }()
	select {
	case c := <-code:
		return g.end(c)
	case <-g.kill:
		return g.end(exitKilled)
	case <-g.quits:
		select {
		case c := <-code:
			return c
		case <-time.After(diesGrace):
			return exitHangup
		}
	}
}

// end tells of the end and stays until that has arrived.
func (g *gate) end(code int) int {
	_ = g.source.Close()
	kills := oomKills()
	if kills >= 0 && g.before >= 0 {
		kills -= g.before
	}
	g.mu.Lock()
	e := seal.End{Code: code, Killed: g.killed, OOMKills: kills}
	g.mu.Unlock()
	text, _ := json.Marshal(e) // plain values
	return g.last(seal.Ended, text, code)
}

// fail tells why the program did not start.
func (g *gate) fail(f *seal.Failure) int {
	_ = g.source.Close()
	text, _ := json.Marshal(f) // plain values
	return g.last(seal.Failed, text, f.Code)
}

func (g *gate) last(kind byte, text []byte, code int) int {
	if g.say.Say(kind, text) != nil {
		return exitHangup
	}
	select {
	case <-g.quits:
	case <-time.After(quitGrace):
	}
	return code
}

// listen reads what the supervisor says until it says no more.
func (g *gate) listen() {
	defer close(g.quits)
	defer func() { _ = g.stdin.Close() }()
	var goes, kills sync.Once
	var buf []byte
	for {
		kind, payload, grown, err := seal.ReadFrame(g.in, buf)
		buf = grown
		if err != nil {
			g.hangup()
			return
		}
		switch kind {
		case seal.Ping:
			err = g.say.Say(seal.Up, nil)
		case seal.Go:
			goes.Do(func() { close(g.goes) })
		case seal.Data:
			if rest := g.feed.now(payload); len(rest) > 0 {
				_, _ = g.stdin.Write(rest) // whoever reads no more does not want it
			}
		case seal.EOF:
			_ = g.stdin.Close()
		case seal.Kill:
			kills.Do(func() {
				g.mu.Lock()
				g.killed = true
				g.mu.Unlock()
				_ = g.source.Close()
				g.killAll()
				close(g.kill)
			})
		case seal.Quit:
			return
		}
		if err != nil {
			g.hangup()
			return
		}
	}
}

// hangup ends all: nobody is there to hear of it. It is the end of the program at the latest when what was killed is gone.
func (g *gate) hangup() {
	g.mu.Lock()
	g.gone = true
	g.mu.Unlock()
	g.killAll()
	if g.cfg.Exit != nil {
		time.AfterFunc(2*diesGrace, func() { g.cfg.Exit(exitHangup) })
	}
}

// killAll ends every other process of the cell; outside of one, those of the program's group.
func (g *gate) killAll() {
	g.mu.Lock()
	group := g.group
	g.mu.Unlock()
	switch {
	case g.boss:
		_ = syscall.Kill(-1, syscall.SIGKILL)
	case group > 1:
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}
