package embed

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/front"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/mcphost"
)

// Options say what a [Host] is made of. The zero value is hotcell as it is without a configuration.
type Options struct {
	// Plugins serve skills in this process. A name that a skill on disk has is that skill's, and one that several plugins have
	// is the first one's.
	Plugins []Plugin

	// Config is the path of a hotcell.yaml; "": none, wherever one may be. Set is laid over it, by key: "data_dir": "/var/lib/me",
	// "sandbox.driver": "docker", "skills.dirs": []string{"skills"}. Its values are strings, lists of strings, bool or int. No
	// environment variable is read.
	Config string
	Set    map[string]any

	// Programs holds what runs inside cells: hotcell-runner-ARCH and hotcell-engine-ARCH.gz for the engine's architecture, amd64
	// or arm64. Nil: only the plugins' skills can be called.
	Programs fs.FS

	Version string       // of your program, told to callers; "": not told
	Log     *slog.Logger // nil: none
}

// Host finds and runs skills. It is safe for concurrent use.
type Host struct {
	cfg     *config.Config
	sys     *host.System
	stdio   *a2ehost.Host
	socket  *a2ehost.Host
	tools   *mcphost.Host
	web     *front.Web
	version string
	log     *slog.Logger

	stop  context.CancelFunc
	group sync.WaitGroup
	once  sync.Once
	ended error
}

// Open makes a host. No engine is asked yet: that happens with the first call that needs a cell. What an earlier host of the
// same data folder left unfinished is closed. Ctx bounds the opening alone. Its owner ends the host with [Host.Close].
func Open(ctx context.Context, o Options) (*Host, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	cfg, err := load(o)
	if err != nil {
		return nil, err
	}
	sys, err := host.Open(ctx, cfg, host.Options{Programs: programs(o.Programs), Plugins: o.Plugins, Version: o.Version, Log: o.Log})
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, sys: sys, version: o.Version, log: o.Log}
	if err := h.openDoors(); err != nil {
		return nil, errors.Join(err, sys.Close())
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.group.Go(func() { sys.Watch(own) })
	h.group.Go(func() { sys.Supervisor.Tend(own) })
	h.group.Go(func() { _ = h.web.Run(own) }) // ends with the host
	return h, nil
}

// openDoors makes the doors.
func (h *Host) openDoors() (err error) {
	own := a2ehost.Options{Handler: h.sys.Supervisor, Door: "stdio", Version: h.version, ErrorsAs: h.cfg.A2E.Errors, Log: h.log}
	if h.stdio, err = a2ehost.New(own); err != nil {
		return err
	}
	own.Door, own.Auth = "socket", h.sys.Auth
	if h.socket, err = a2ehost.New(own); err != nil {
		return err
	}
	h.tools, err = mcphost.New(mcphost.Options{
		Handler: h.sys.Supervisor, Catalog: h.sys.Catalog.Reader, Control: h.sys.Supervisor, Version: h.version, Log: h.log,
	})
	if err != nil {
		return err
	}
	h.web, err = h.openWeb()
	return err
}

// load reads the configuration. A host has nothing of the environment but where its user is at home.
func load(o Options) (*config.Config, error) {
	from := config.Options{
		Path: o.Config, Overrides: o.Set,
		Getenv: func(name string) string {
			switch name {
			case "HOME", "XDG_RUNTIME_DIR":
				return os.Getenv(name)
			}
			return ""
		},
	}
	if o.Config == "" {
		from.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	}
	cfg, _, err := config.Load(from)
	return cfg, err
}

// programs are those that were given, or none.
func programs(given fs.FS) fs.FS {
	if given == nil {
		return nothing{}
	}
	return given
}

type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Discover returns the skills that a caller may call and that have one of the tags, where any are named.
func (h *Host) Discover(ctx context.Context, who Caller, tags ...string) ([]SkillDefinition, error) {
	return h.sys.Supervisor.Discover(ctx, who, &a2e.DiscoverRequest{FilterTags: tags})
}

// Call runs a skill and returns the one answer, never nil. Events go to on in order, and never after the return; nil: nobody
// wants them. Cancelling ctx cancels the call.
func (h *Host) Call(ctx context.Context, who Caller, req *Request, on func(*Event)) *Response {
	var w a2e.EventWriter
	if on != nil {
		w = a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error { on(ev); return nil })
	}
	return h.sys.Supervisor.Call(ctx, who, req, w)
}

// Close refuses new calls, waits for those in flight until ctx ends and kills what is left then. Those who serve are to end
// before.
func (h *Host) Close(ctx context.Context) error {
	h.once.Do(func() {
		h.stop()
		h.group.Wait()
		h.ended = errors.Join(h.sys.Supervisor.Drain(ctx), h.sys.Close())
	})
	return h.ended
}
