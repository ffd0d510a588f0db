package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// kept is a finder of what tests have issued.
type kept map[Digest]Token

func (k kept) FindToken(_ context.Context, d Digest) (Token, error) {
	if t, ok := k[d]; ok {
		return t, nil
	}
	return Token{}, ErrRefused
}

func (k kept) issue(t *testing.T, tok Token) (Token, Secret) {
	t.Helper()
	tok, secret, err := Issue(tok, start)
	if err != nil {
		t.Fatal(err)
	}
	k[secret.Digest()] = tok
	return tok, secret
}

func alice() Token {
	return Token{
		Principal: "alice", Groups: []Membership{{"team", RoleAdmin}}, Agent: "reviewer", Scopes: []Scope{Calls},
		Expires: start.Add(time.Hour),
	}
}

func TestATokenIsItsPrincipal(t *testing.T) {
	tokens := kept{}
	_, secret := tokens.issue(t, alice())
	got, err := Keyed{Tokens: tokens, Now: func() time.Time { return start }}.Authenticate(t.Context(), Credentials{Bearer: secret})
	want := Identity{Principal: "alice", Groups: []Membership{{"team", RoleAdmin}}, Agent: "reviewer", Scopes: []Scope{Calls}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if !got.May(Calls) || got.May(SkillsRead) || got.May(Admin) {
		t.Errorf("scopes: %+v", got)
	}
	if got.Role("team") != RoleAdmin || got.Role("other") != "" {
		t.Errorf("roles: %+v", got)
	}
	who := got.Caller("http")
	if who.Principal != "alice" || who.Agent != "reviewer" || who.Door != "http" || who.Groups["team"] != "admin" {
		t.Errorf("caller: %+v", who)
	}
}

func TestTokensThatOpenNothing(t *testing.T) {
	tokens := kept{}
	live, secret := tokens.issue(t, alice())
	dead := live
	dead.Revoked = start
	revoked := NewSecret(Prefix + strings.Repeat("a", 64))
	tokens[revoked.Digest()] = dead
	for name, tt := range map[string]struct {
		shown Secret
		at    time.Time
		want  error
	}{
		"none":         {Secret{}, start, ErrMissing},
		"good":         {secret, start, nil},
		"last moment":  {secret, start.Add(time.Hour - 1), nil},
		"expired":      {secret, start.Add(time.Hour), ErrRefused},
		"revoked":      {revoked, start, ErrRefused},
		"unknown":      {NewSecret(Prefix + strings.Repeat("0", 64)), start, ErrRefused},
		"its digest":   {NewSecret(fmt.Sprintf("%s%x", Prefix, secret.Digest())), start, ErrRefused},
		"upper case":   {NewSecret(strings.ToUpper(secret.Reveal())), start, ErrRefused},
		"cut":          {NewSecret(secret.Reveal()[:40]), start, ErrRefused},
		"with a blank": {NewSecret(secret.Reveal() + " "), start, ErrRefused},
		"no token":     {NewSecret("password"), start, ErrRefused},
		"the id":       {NewSecret(live.ID), start, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := Keyed{Tokens: tokens, Now: func() time.Time { return tt.at }}.Authenticate(t.Context(), Credentials{Bearer: tt.shown})
			if !errors.Is(err, tt.want) || err != nil && id.May(Calls) {
				t.Errorf("%+v, %v", id, err)
			}
		})
	}
}

// A store that cannot be asked is no reason to let somebody in, nor to call a token wrong.
func TestAStoreThatFails(t *testing.T) {
	broken := errors.New("disk")
	_, secret := kept{}.issue(t, alice())
	_, err := Keyed{Tokens: failing{broken}}.Authenticate(t.Context(), Credentials{Bearer: secret})
	if !errors.Is(err, broken) || errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) FindToken(context.Context, Digest) (Token, error) { return Token{}, f.err }

func TestPeersAreUsersOfThisHost(t *testing.T) {
	tokens := kept{}
	_, secret := tokens.issue(t, alice())
	for name, a := range map[string]Authenticator{"open": Open{Self: 500}, "keyed": Keyed{Tokens: tokens, Self: 500, Now: func() time.Time { return start }}} {
		for uid, admin := range map[int]bool{0: true, 500: true, 1000: false} {
			id, err := a.Authenticate(t.Context(), Credentials{Peer: &Peer{UID: uid, GID: 7}})
			if err != nil || id.Principal != fmt.Sprintf("uid:%d", uid) || id.May(Admin) != admin || !id.May(Calls) || id.Role("gid:7") != RoleMember {
				t.Errorf("%s: uid %d: %+v, %v", name, uid, id, err)
			}
		}
	}
	id, err := Keyed{Tokens: tokens, Now: func() time.Time { return start }}.Authenticate(t.Context(), Credentials{Bearer: secret, Peer: &Peer{}})
	if err != nil || id.Principal != "alice" || id.May(Admin) {
		t.Errorf("a peer with a token: %+v, %v", id, err)
	}
	if id, err := (Open{}).Authenticate(t.Context(), Credentials{}); err != nil || id.Principal != "" || !id.May(Admin) {
		t.Errorf("nobody: %+v, %v", id, err)
	}
}

// What is no token of ours is looked at by another, and ours by us alone.
func TestTokensOfOthers(t *testing.T) {
	tokens := kept{}
	_, secret := tokens.issue(t, alice())
	k := Keyed{Tokens: tokens, Others: Open{}, Now: func() time.Time { return start }}
	if id, err := k.Authenticate(t.Context(), Credentials{Bearer: NewSecret("a.b.c")}); err != nil || id.Principal != "" {
		t.Errorf("another's: %+v, %v", id, err)
	}
	if id, err := k.Authenticate(t.Context(), Credentials{Bearer: secret}); err != nil || id.Principal != "alice" {
		t.Errorf("ours: %+v, %v", id, err)
	}
	if _, err := k.Authenticate(t.Context(), Credentials{Bearer: NewSecret(Prefix + "x")}); !errors.Is(err, ErrRefused) {
		t.Errorf("like ours: %v", err)
	}
	if _, err := k.Authenticate(t.Context(), Credentials{}); !errors.Is(err, ErrMissing) {
		t.Errorf("none: %v", err)
	}
}

func TestAnAgentIsBound(t *testing.T) {
	bound, free := Identity{Principal: "p", Agent: "a"}, Identity{Principal: "p"}
	if got, err := bound.As(""); err != nil || got.Agent != "a" {
		t.Errorf("silent: %+v, %v", got, err)
	}
	if got, err := bound.As("a"); err != nil || got.Agent != "a" {
		t.Errorf("same: %+v, %v", got, err)
	}
	if _, err := bound.As("b"); !errors.Is(err, ErrAgent) {
		t.Errorf("other: %v", err)
	}
	if got, err := free.As("b"); err != nil || got.Agent != "b" {
		t.Errorf("free: %+v, %v", got, err)
	}
}

func TestASecretDoesNotPrint(t *testing.T) {
	_, secret := kept{}.issue(t, alice())
	js, err := json.Marshal(map[string]any{"s": secret, "c": Credentials{Bearer: secret}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret, "credentials", Credentials{Bearer: secret})
	hidden := struct{ s Secret }{secret}
	said := fmt.Sprintf("%v %+v %#v %s %q %x %+v %#v", secret, Credentials{Bearer: secret}, secret, secret, secret, secret, hidden, &hidden) + string(js) + log.String()
	if strings.Contains(said, strings.TrimPrefix(secret.Reveal(), Prefix)) {
		t.Errorf("the token was printed: %s", said)
	}
	if len(secret.Reveal()) != 68 || !secret.wellFormed() {
		t.Errorf("a token of %d bytes", len(secret.Reveal()))
	}
}

func TestTokensThatCannotBeMade(t *testing.T) {
	for want, change := range map[string]func(*Token){
		`principal "": expected at most 128`:    func(t *Token) { t.Principal = "" },
		`principal "a b": expected at most 128`: func(t *Token) { t.Principal = "a b" },
		`principal "-a": expected at most 128`:  func(t *Token) { t.Principal = "-a" },
		`agent "a=b": expected at most 128`:     func(t *Token) { t.Agent = "a=b" },
		"a token needs a scope":                 func(t *Token) { t.Scopes = nil },
		"at most 64 are allowed":                func(t *Token) { t.Groups = make([]Membership, 65) },
		"group x is named twice":                func(t *Token) { t.Groups = []Membership{{"x", RoleMember}, {"x", RoleOwner}} },
		"the note has 201 bytes":                func(t *Token) { t.Note = strings.Repeat("n", 201) },
		"would have expired already":            func(t *Token) { t.Expires = start },
	} {
		tok := alice()
		change(&tok)
		if _, secret, err := Issue(tok, start); err == nil || !strings.Contains(err.Error(), want) || !secret.Empty() {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWordsAreParsed(t *testing.T) {
	for in, want := range map[string]Membership{
		"team": {"team", RoleMember}, "team=owner": {"team", RoleOwner}, "gid:5=admin": {"gid:5", RoleAdmin},
	} {
		if got, err := ParseMembership(in); err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "=admin", "team=", "team=root", "a b", "team=admin=x"} {
		if got, err := ParseMembership(in); err == nil {
			t.Errorf("%q was taken: %+v", in, got)
		}
	}
	for _, s := range Scopes() {
		if got, err := ParseScope(string(s)); err != nil || got != s {
			t.Errorf("%s: %v", s, err)
		}
	}
	if _, err := ParseScope("all"); err == nil {
		t.Error("all is no scope")
	}
	if FromContext(t.Context()).May(Calls) {
		t.Error("a context without an identity may do something")
	}
	if id := FromContext(NewContext(t.Context(), Identity{Principal: "p"})); id.Principal != "p" {
		t.Errorf("%+v", id)
	}
}

// What is taken for a membership has a good name, a role, and reads the same again.
func FuzzMembership(f *testing.F) {
	for _, s := range []string{"team", "team=admin", "=", "a=b=c", "gid:0=owner", "ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMembership(s)
		if err != nil {
			return
		}
		again, err := ParseMembership(m.String())
		if err != nil || again != m || !Name(m.Group) || strings.ContainsAny(m.Group, "=, \n") {
			t.Errorf("%q is %+v, %v", s, m, err)
		}
	})
}
