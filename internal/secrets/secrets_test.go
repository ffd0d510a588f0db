package secrets_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/secrets"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

const value = "s3cr3t-0123456789"

func ask(names ...string) service.Ask {
	return service.Ask{Call: "c1", Skill: &skills.Skill{Name: "needy"}, Policy: policies.Effective{Secrets: names}}
}

// with returns a service whose secrets come from an environment, and what it logs.
func with(env map[string]string) (*secrets.Service, *bytes.Buffer) {
	var log bytes.Buffer
	refs := map[string]string{"ABSENT": "env:NOWHERE"}
	for name := range env {
		refs[name] = "env:" + name
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return secrets.New(secrets.Options{
		Refs: refs, Resolver: credentials.Resolver{Lookup: lookup}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}), &log
}

func TestLeaseHoldsTheNamedSecretsUntilTheEnd(t *testing.T) {
	s, _ := with(map[string]string{"TOKEN": value, "OTHER": "o", "UNASKED": "u"})
	g, err := s.Grant(ask("TOKEN", "OTHER", "TOKEN"))
	if err != nil {
		t.Fatal(err)
	}
	if env := g.Env(func(string) string { return "" }, ""); len(env) > 0 || len(g.Ports()) > 0 {
		t.Errorf("environment %q, ports %q", env, g.Ports())
	}
	l := wall.Lease{Type: wall.TypeLease, Secrets: map[string]string{"MODEL": "m"}}
	g.Lease(&l)
	if diff := cmp.Diff(map[string]string{"TOKEN": value, "OTHER": "o", "MODEL": "m"}, l.Secrets); diff != "" {
		t.Error(diff)
	}
	line, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wall.DecodeLease(line); err != nil || got.Secrets["TOKEN"] != value {
		t.Errorf("the runner reads %v", err)
	}
	g.Activate(t.Context(), "token")
	g.Revoke()
	g.Revoke()
	var after wall.Lease
	if g.Lease(&after); after.Secrets != nil {
		t.Error("secrets after the end")
	}
}

func TestServeClosesTheStream(t *testing.T) {
	s, _ := with(map[string]string{"TOKEN": value})
	g, err := s.Grant(ask("TOKEN"))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	g.Serve("secrets", theirs)
	if _, err := ours.Read(make([]byte, 1)); err == nil {
		t.Error("the stream is open")
	}
}

func TestNothingAskedNothingGranted(t *testing.T) {
	s, _ := with(map[string]string{"TOKEN": value})
	if g, err := s.Grant(ask()); g != nil || err != nil {
		t.Errorf("%v, %v", g, err)
	}
}

func TestRefusals(t *testing.T) {
	env := map[string]string{"TOKEN": value, "BINARY": value + "\xff", "LONG1": strings.Repeat("x", 64<<10), "LONG2": strings.Repeat("y", 64<<10)}
	for _, tt := range []struct {
		names  []string
		says   string
		logged string
	}{
		{[]string{"TOKEN", "MISSING"}, `skill "needy": it needs the secret MISSING, which this host does not have`, ""},
		{[]string{"ABSENT"}, "needs the secret ABSENT, which this host has but cannot read", "env:NOWHERE"},
		{[]string{"BINARY"}, "needs the secret BINARY, which this host has but cannot read", "not UTF-8"},
		{[]string{"../../etc/passwd"}, "bad name", ""},
		{[]string{""}, "bad name", ""},
		{[]string{"LONG1", "LONG2", "TOKEN"}, "longer than 131072 bytes together", ""},
	} {
		s, log := with(env)
		g, err := s.Grant(ask(tt.names...))
		var e *a2e.Error
		if g != nil || !errors.As(err, &e) || e.Code != a2e.RuntimeError || e.Reason() != a2e.ReasonUnsupported || !strings.Contains(e.Message, tt.says) {
			t.Errorf("%q: %v", tt.names, err)
		}
		if !strings.Contains(log.String(), tt.logged) {
			t.Errorf("%q: the log is %q", tt.names, log)
		}
		if said := fmt.Sprintf("%+v %v", err, log); strings.Contains(said, value) {
			t.Errorf("%q: the value is told: %s", tt.names, said)
		}
	}
}

func TestWhichSkillGetsWhichSecret(t *testing.T) {
	env := map[string]string{"TOKEN": value, "TOKEN_2": value}
	for _, tt := range []struct {
		allow []string
		skill string
		names []string
		says  string // "": granted
	}{
		{nil, "needy", []string{"TOKEN", "TOKEN_2"}, ""},
		{[]string{"*:*"}, "needy", []string{"TOKEN", "TOKEN_2"}, ""},
		{[]string{"other:*", "needy:TOKEN"}, "needy", []string{"TOKEN"}, ""},
		{[]string{"nee*:TOKEN*"}, "needy", []string{"TOKEN", "TOKEN_2"}, ""},
		{[]string{"needy:TOKEN"}, "needy", []string{"TOKEN", "TOKEN_2"}, "the operator can add needy:TOKEN_2 there"},
		{[]string{"other:*"}, "needy", []string{"TOKEN"}, `skill "needy": it may not have the secret TOKEN: policy.secrets of the configuration says`},
		{[]string{}, "needy", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"*:token"}, "needy", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"needy", "*"}, "needy", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"needy:*"}, "needy-2", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"other:*"}, "needy", []string{"MISSING"}, "policy.secrets"}, // it does not learn which secrets there are
		{[]string{}, "needy", nil, ""},
		// a custom skill has none with the name of a shipped one, and none by default
		{nil, "bob/needy", []string{"TOKEN"}, "the operator can add custom:bob/needy:TOKEN there"},
		{[]string{"*:*", "needy:*", "bob:*", "*:TOKEN"}, "bob/needy", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"custom:TOKEN"}, "bob/custom", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"custom:alice/needy:*"}, "bob/needy", []string{"TOKEN"}, "policy.secrets"},
		{[]string{"custom:needy:TOKEN"}, "bob/needy", []string{"TOKEN"}, ""},
		{[]string{"custom:bob/*:*"}, "bob/needy", []string{"TOKEN", "TOKEN_2"}, ""},
		{[]string{"custom:*:*", "custom:bob/*:*"}, "needy", []string{"TOKEN"}, "policy.secrets"},
	} {
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		s := secrets.New(secrets.Options{
			Refs: map[string]string{"TOKEN": "env:TOKEN", "TOKEN_2": "env:TOKEN_2"}, Allow: tt.allow, Resolver: credentials.Resolver{Lookup: lookup},
		})
		a := ask(tt.names...)
		a.Skill.Name, a.Chain = tt.skill, []string{"other"} // the skill around it has no say
		if whose, name, ok := strings.Cut(tt.skill, "/"); ok {
			a.Skill.Name, a.Skill.Source, a.Skill.Owner = name, skills.SourceUser, &skills.Owner{Name: whose}
		}
		g, err := s.Grant(a)
		if tt.says == "" {
			if err != nil || (g == nil) != (tt.names == nil) {
				t.Errorf("%q, %s: %v", tt.allow, tt.skill, err)
			}
			continue
		}
		var e *a2e.Error
		if g != nil || !errors.As(err, &e) || e.Code != a2e.RuntimeError || e.Reason() != a2e.ReasonUnsupported || !strings.Contains(e.Message, tt.says) {
			t.Errorf("%q, %s: %v", tt.allow, tt.skill, err)
		}
	}
}

func TestValuesArePrintedNowhere(t *testing.T) {
	s, _ := with(map[string]string{"TOKEN": value})
	g, err := s.Grant(ask("TOKEN"))
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprintf("%v %+v %#v %s", g, g, g, g); strings.Contains(said, value) {
		t.Error(said)
	}
}
