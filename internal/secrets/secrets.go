package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/pattern"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// maxTotal is how many bytes the secrets of one call may have together. Six times as much, as JSON may make of them, fits
// into a line of the wall.
const maxTotal = 128 << 10

// Options say which secrets there are.
type Options struct {
	Refs     map[string]string // by name, references as package credentials reads them
	Resolver credentials.Resolver
	Allow    []string     // which skills get which: SKILL:NAME, * is any text in both; nil: all that are shipped get all
	Log      *slog.Logger // is told why a secret cannot be read, since callers are not; nil: nobody
}

// Service grants secrets.
type Service struct{ opts Options }

// New returns a service. It reads no value yet.
func New(opts Options) *Service {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{opts}
}

// Grant reads the values that the skill names, as they are now.
func (s *Service) Grant(ask service.Ask) (service.Grant, error) {
	if len(ask.Policy.Secrets) == 0 {
		return nil, nil
	}
	g, total := &grant{values: map[string]string{}}, 0
	for _, name := range ask.Policy.Secrets {
		value, err := s.value(ask, name)
		if err != nil {
			return nil, err
		}
		if total += len(value); total > maxTotal {
			return nil, refusal(ask, "the secrets that it names are longer than %d bytes together", maxTotal)
		}
		g.values[name] = value
	}
	return g, nil
}

func (s *Service) value(ask service.Ask, name string) (string, error) {
	if !credentials.Name(name) {
		return "", refusal(ask, "secrets: bad name %.80q: expected 1 to 64 letters, digits, _, - and ., not a dot first", name)
	}
	if !s.allowed(ask.Skill, name) {
		return "", refusal(ask, "it may not have the secret %s: policy.secrets of the configuration says which skill gets which; the operator can add %s:%s there",
			name, ask.Skill.Scoped(), name)
	}
	ref, ok := s.opts.Refs[name]
	if !ok {
		return "", refusal(ask, "it needs the secret %s, which this host does not have: the operator can add it to secrets in the configuration", name)
	}
	value, err := s.opts.Resolver.Resolve(ref)
	if err == nil && !utf8.Valid(value) {
		err = errors.New("the value is not UTF-8")
	}
	if err != nil {
		s.opts.Log.Error("a secret cannot be read", "secret", name, "call", ask.Call, "principal", ask.Who.Principal, "skill", ask.Skill.Name, "error", err)
		return "", refusal(ask, "it needs the secret %s, which this host has but cannot read: hotcell's log says why", name)
	}
	return string(value), nil
}

// allowed reports whether the operator lets a skill have a secret. No custom skill has one unless it is said.
func (s *Service) allowed(skill *skills.Skill, name string) bool {
	if s.opts.Allow == nil {
		return !skill.Custom()
	}
	return slices.ContainsFunc(s.opts.Allow, func(entry string) bool {
		who, what, ok := skills.SplitScoped(entry)
		return ok && skill.In([]string{who}) && pattern.Match(what, name)
	})
}

func refusal(ask service.Ask, format string, args ...any) error {
	return a2e.Errorf(a2e.RuntimeError, "skill %q: %s", ask.Skill.Name, fmt.Sprintf(format, args...)).Because(a2e.ReasonUnsupported)
}

// grant holds one call's values until the call ends.
type grant struct {
	mu     sync.Mutex
	values map[string]string
}

var _ service.Grant = (*grant)(nil)

func (g *grant) Ports() []string { return nil }

func (g *grant) Env(func(string) string, string) []string { return nil }

// Lease hands the values in; after the end it has none.
func (g *grant) Lease(l *wall.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.Secrets == nil && len(g.values) > 0 {
		l.Secrets = map[string]string{}
	}
	for name, value := range g.values {
		l.Secrets[name] = value
	}
}

func (g *grant) Activate(context.Context, string) {}

func (g *grant) Serve(_ string, conn net.Conn) { _ = conn.Close() }

func (g *grant) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.values = nil
}

// String keeps the values out of logs.
func (g *grant) String() string { return "[redacted]" }

// GoString keeps the values out of logs.
func (g *grant) GoString() string { return "[redacted]" }
