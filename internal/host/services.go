package host

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/broker"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/egress"
	"github.com/hotcell/hotcell/internal/secrets"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/tools"
	"github.com/hotcell/hotcell/internal/vault"
	"github.com/hotcell/hotcell/policies"
)

// SecretsDir is the folder within the data folder that holds the stored secrets.
const SecretsDir = "secrets"

// References finds what the configuration's references stand for.
func References(cfg *config.Config) credentials.Resolver {
	return credentials.Resolver{Stored: vault.At(filepath.Join(cfg.DataDir, SecretsDir)).Get}
}

// keys are the references of what calls use. Why one has no value is told to the log in full, once, and to callers in words that
// say nothing of the host's files.
type keys struct {
	from credentials.Resolver
	log  *slog.Logger

	mu   sync.Mutex
	told map[string]string // what the log was told last, by reference
}

func keysOf(cfg *config.Config, log *slog.Logger) *keys {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keys{from: References(cfg), log: log, told: map[string]string{}}
}

// Resolve implements [broker.Credentials].
func (k *keys) Resolve(ref string) ([]byte, error) {
	value, err := k.from.Resolve(ref)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		delete(k.told, ref)
		return value, nil
	}
	why, public := err.Error(), credentials.Public(err)
	if k.told[ref] != why {
		k.told[ref] = why
		level := slog.LevelWarn
		if why == public { // who asked is told the same
			level = slog.LevelInfo
		}
		k.log.Log(context.Background(), level, "a credential can't be read", "error", why)
	}
	return nil, errors.New(public)
}

// Toolbox holds the host's tools. It starts no server before a skill needs one.
func Toolbox(cfg *config.Config, log *slog.Logger) *tools.Box {
	refs := keysOf(cfg, log)
	servers := make(map[string]tools.Server, len(cfg.Tools.MCP))
	for name, m := range cfg.Tools.MCP {
		servers[name] = tools.Server{
			Command: m.Command, Env: m.Env, URL: m.URL, Headers: m.Headers, Tools: m.Tools, ReadOnly: m.ReadOnly,
			Timeout: time.Duration(m.Timeout), Skills: m.Skills, Recommends: m.Recommends,
		}
	}
	return tools.NewBox(tools.BoxOptions{Servers: servers, Log: log, Resolve: func(ref string) (string, error) {
		value, err := refs.Resolve(ref)
		return string(value), err
	}})
}

// NewBroker makes the broker of model keys.
func NewBroker(cfg *config.Config, kept audit.Log, log *slog.Logger) (*broker.Broker, error) {
	return broker.New(broker.Options{
		Providers: cfg.LLM.Providers, BaseURLs: cfg.LLM.BaseURLs, Credentials: keysOf(cfg, log), Log: kept,
	})
}

// NewSecrets makes what hands secrets to skills.
func NewSecrets(cfg *config.Config, log *slog.Logger) *secrets.Service {
	return secrets.New(secrets.Options{Refs: cfg.Secrets, Allow: cfg.Policy.Secrets, Resolver: References(cfg), Log: log})
}

// outside is what calls may use outside of their cells.
type outside struct {
	services []service.Service
	audit    *audit.Tally                        // which they tell what calls use
	calls    atomic.Pointer[executor.Supervisor] // runs the calls that skills make
	close    func()
}

// openOutside wires the services. What asks other parties comes last: a call that is refused anyway bothers none of them.
func openOutside(cfg *config.Config, shelf skills.Shelf, box *tools.Box, log *slog.Logger, kept audit.Log) (*outside, error) {
	models, err := NewBroker(cfg, kept, log)
	if err != nil {
		return nil, err
	}
	named, err := policies.ParseHostPatterns(cfg.Policy.Network.Allow)
	if err != nil {
		return nil, err
	}
	o := &outside{close: models.Close}
	o.services = []service.Service{
		models,
		egress.New(egress.Options{Log: kept, Named: named}),
		NewSecrets(cfg, log),
		tools.New(tools.Options{Box: box, Shelf: shelf, Calls: o.call, Log: kept}),
	}
	return o, nil
}

// call runs a call that a skill makes. Its events are nobody's.
func (o *outside) call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
	return o.calls.Load().Call(ctx, who, req, nil)
}
