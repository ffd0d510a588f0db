package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

// token makes a token and returns its id and text.
func (b *bench) token(t *testing.T, args ...string) (id, text string) {
	t.Helper()
	b.out.Reset()
	if code := b.run(append([]string{"tokens", "create", "--json"}, args...)...); code != exitOK {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	var got made
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, b.out.String())
	}
	b.out.Reset()
	b.err.Reset()
	return got.ID, got.Text
}

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	if code := b.run("tokens", "list"); code != exitOK || strings.Count(b.out.String(), "\n") != 1 {
		t.Fatalf("exit %d: %s%s", code, b.out.String(), b.err.String())
	}
	b.out.Reset()
	code := b.run("tokens", "create", "--principal", "alice", "--group", "team=admin", "--group", "all", "--agent", "reviewer", "--note", "laptop",
		"--scope", "calls,skills:write")
	text, ok := strings.CutSuffix(b.out.String(), "\n")
	if code != exitOK || !ok || !strings.HasPrefix(text, auth.Prefix) || strings.Contains(text, "\n") {
		t.Fatalf("exit %d: %q, %s", code, text, b.err.String())
	}
	if strings.Contains(b.err.String(), text) || !strings.Contains(b.err.String(), "auth.mode is none") {
		t.Errorf("stderr: %s", b.err.String())
	}
	id, _ := b.token(t, "--principal", "bob", "--expires", "never")
	if code := b.run("tokens", "list"); code != exitOK {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	for _, want := range []string{"alice", "team=admin,all=member", "reviewer", "calls,skills:write", "laptop", id, "bob", "calls,skills:read", "never expires"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %s in\n%s", want, b.out.String())
		}
	}
	if strings.Contains(b.out.String(), text) {
		t.Error("the list shows a token")
	}
	if code := b.run("tokens", "revoke", id); code != exitOK {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	b.out.Reset()
	if b.run("tokens", "list"); strings.Contains(b.out.String(), "bob") {
		t.Errorf("still there: %s", b.out.String())
	}
	b.out.Reset()
	if b.run("tokens", "list", "--all"); !strings.Contains(b.out.String(), "revoked 2") {
		t.Errorf("not there: %s", b.out.String())
	}
	b.out.Reset()
	var list []auth.Token
	if code := b.run("tokens", "list", "--json"); code != exitOK || json.Unmarshal(b.out.Bytes(), &list) != nil || len(list) != 1 || list[0].Principal != "alice" {
		t.Errorf("exit %d: %s", code, b.out.String())
	}
	if lasts := list[0].Expires.Sub(list[0].Created); lasts != 90*24*time.Hour {
		t.Errorf("it lasts %s", lasts)
	}
}

func TestTokensThatCannotBeMade(t *testing.T) {
	b := newBench(t, nil)
	b.env["HOTCELL__DATA_DIR"] = t.TempDir()
	b.token(t, "--principal", "alice")
	for want, args := range map[string][]string{
		"--principal says whose token it is: it is required":              {"create"},
		`principal "a b": expected at most 128 letters`:                   {"create", "--principal", "a b"},
		`--scope: unknown scope "all": expected calls, skills:read`:       {"create", "--principal", "a", "--scope", "all"},
		"a token needs a scope":                                           {"create", "--principal", "a", "--scope", ""},
		`--group: group g: unknown role "root"`:                           {"create", "--principal", "a", "--group", "g=root"},
		`--expires: "soon" is no length of time`:                          {"create", "--principal", "a", "--expires", "soon"},
		"expected no argument, got":                                       {"create", "alice"},
		"expected the ids of tokens":                                      {"revoke"},
		"there is no token tok-x: 'hotcell tokens list --all' shows":      {"revoke", "tok-x"},
		"expected ids such as tok-0123456789ab, not a token":              {"revoke", auth.Prefix + strings.Repeat("0", 64)},
		"tokens: expected one of create, list, revoke (see 'hotcell help": {},
	} {
		b.out.Reset()
		b.err.Reset()
		if code := b.run(append([]string{"tokens"}, args...)...); code != exitUsage || !strings.Contains(b.err.String(), want) || b.out.String() != "" {
			t.Errorf("exit %d: %s%s, want %s", code, b.out.String(), b.err.String(), want)
		}
		if strings.Contains(b.err.String(), strings.Repeat("0", 64)) {
			t.Error("a token was repeated")
		}
	}
}

func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	b := newBench(t, nil)
	if got, err := b.app.token(""); err != nil || !got.Empty() {
		t.Errorf("none: %v", err)
	}
	if got, err := b.app.token(file("good", "hct_1\n")); err != nil || got.Reveal() != "hct_1" {
		t.Errorf("flag: %v", err)
	}
	b.env[envTokenFile] = file("env", "hct_2")
	if got, err := b.app.token(""); err != nil || got.Reveal() != "hct_2" {
		t.Errorf("variable: %v", err)
	}
	if got, err := b.app.token(filepath.Join(dir, "good")); err != nil || got.Reveal() != "hct_1" {
		t.Errorf("flag before variable: %v", err)
	}
	for want, path := range map[string]string{
		"no such file":       filepath.Join(dir, "none"),
		"expected one token": file("two", "hct_1 hct_2"),
		"is a directory":     dir,
	} {
		if got, err := b.app.token(path); err == nil || !strings.Contains(err.Error(), want) || !got.Empty() || strings.Contains(err.Error(), "hct_") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, text := range []string{"", "\n", "a\nb", "ключ", "a\x00", strings.Repeat("x", maxTokenFile+1)} {
		if _, err := b.app.token(file("bad", text)); err == nil {
			t.Errorf("%.10q was taken", text)
		}
	}
}

// A running daemon takes tokens from the moment that they are made until they are revoked.
func TestADaemonWithTokens(t *testing.T) {
	d := newBench(t, succeed(nil, ""))
	data := t.TempDir()
	d.env["HOTCELL__DATA_DIR"], d.env["HOTCELL__AUTH__MODE"] = data, "token"
	d.keyed(t, data)
	r := start(t, d, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	base := r.ready(t)

	b := newBench(t, nil)
	b.app.dial = dial
	b.env["HOTCELL__DATA_DIR"], b.env["HOTCELL__AUTH__MODE"] = data, "token"
	ask := func(want int, says string, args ...string) {
		t.Helper()
		b.err.Reset()
		if code := b.run(append([]string{"calls", "list", "--url", base}, args...)...); code != want || !strings.Contains(b.err.String(), says) {
			t.Errorf("exit %d: %s, want %d", code, b.err.String(), want)
		}
	}
	ask(exitUnauthorized, "a token is required: name a file that holds one with --token-file")
	id, text := b.token(t, "--principal", "alice")
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(exitOK, "", "--token-file", path)
	if code, body := get(t, base+"/v1/calls"); code != http.StatusUnauthorized || !strings.Contains(body, `"unauthenticated"`) {
		t.Errorf("without a token: %d, %s", code, body)
	}
	if code, _ := get(t, base+"/healthz"); code != http.StatusOK {
		t.Errorf("health: %d", code)
	}
	if code := b.run("tokens", "revoke", id); code != exitOK {
		t.Fatal(b.err.String())
	}
	ask(exitUnauthorized, "the token is not valid", "--token-file", path)
	_, text = b.token(t, "--principal", "alice", "--scope", "skills:read")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env[envTokenFile] = path
	ask(exitUnauthorized, "the token has no scope for this: it needs calls or admin")
	if code := r.stop(t); code != exitOK {
		t.Errorf("exit %d: %s", code, d.err.String())
	}
	if said := r.stderr.String(); strings.Contains(said, strings.TrimPrefix(text, auth.Prefix)) {
		t.Errorf("the daemon said: %s", said)
	}
}

// keyed has the daemon of b ask the journal of a data folder for tokens, as open does.
func (b *bench) keyed(t *testing.T, data string) {
	t.Helper()
	journal, err := store.Open(t.Context(), store.Options{Path: filepath.Join(data, "hotcell.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	b.auth = host.Authenticator(&config.Config{Auth: config.Auth{Mode: config.AuthToken}}, journal)
}

func TestExposureIsSaid(t *testing.T) {
	for listen, want := range map[string]bool{"0.0.0.0:1": true, "127.0.0.1:1": false} {
		var said strings.Builder
		warnOfExposure(&config.Config{Listen: listen}, slog.New(slog.NewTextHandler(&said, nil)))
		if strings.Contains(said.String(), "put a proxy that speaks TLS in front of it") != want {
			t.Errorf("%s: %s", listen, said.String())
		}
	}
}

// Each mode has its authenticator, and none takes what only another one's callers show.
func TestModesOfAuthentication(t *testing.T) {
	cfg := config.Default(true, "", "")
	shown := auth.Credentials{Bearer: auth.NewSecret("a.b.c")}
	for mode, want := range map[string]error{config.AuthNone: nil, config.AuthToken: auth.ErrRefused, config.AuthOIDC: errAny} {
		cfg.Auth.Mode = mode
		cfg.Auth.OIDC.Issuer = "http://127.0.0.1:1" // nobody listens there
		a := host.Authenticator(cfg, nil)
		id, err := a.Authenticate(t.Context(), shown)
		if want == errAny && (err == nil || errors.Is(err, auth.ErrRefused)) || want != errAny && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v", mode, id, err)
		}
		if _, err := a.Authenticate(t.Context(), auth.Credentials{}); (err == nil) != (mode == config.AuthNone) {
			t.Errorf("%s with nothing: %v", mode, err)
		}
	}
}

var errAny = errors.New("any")
