package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// issuer is one on loopback.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  map[string]*ecdsa.PrivateKey // by id
	down  bool
	asked atomic.Int32 // for keys
	skew  atomic.Int64 // of the clock that the authenticator has
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]*ecdsa.PrivateKey{}}
	i.add(t, "k1")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		var set jose.JSONWebKeySet
		i.mu.Lock()
		for id, k := range i.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"})
		}
		i.mu.Unlock()
		i.answer(w, set)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) answer(w http.ResponseWriter, body any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (i *issuer) add(t *testing.T, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[id] = key
}

func (i *issuer) set(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// sign makes a token that is good but for what change does to its claims.
func (i *issuer) sign(t *testing.T, id string, change map[string]any) string {
	t.Helper()
	i.mu.Lock()
	key := i.keys[id]
	i.mu.Unlock()
	return signed(t, key, id, i.claims(change))
}

func (i *issuer) claims(change map[string]any) map[string]any {
	claims := map[string]any{
		"iss": i.URL, "aud": "hotcell", "sub": "alice", "groups": []string{"team", "no name!"},
		"iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, change)
	return claims
}

func signed(t *testing.T, key *ecdsa.PrivateKey, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := sig.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (i *issuer) door(change func(*Options)) *Authenticator {
	o := Options{
		Issuer: i.URL, Audience: "hotcell", Admins: []string{"ops"}, Now: func() time.Time { return start.Add(time.Duration(i.skew.Load())) },
	}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func show(text string) auth.Credentials { return auth.Credentials{Bearer: auth.NewSecret(text)} }

func TestATokenOfTheIssuer(t *testing.T) {
	i := newIssuer(t)
	got, err := i.door(nil).Authenticate(t.Context(), show(i.sign(t, "k1", nil)))
	want := auth.Identity{
		Principal: "oidc:alice", Groups: []auth.Membership{{Group: "oidc:team", Role: auth.RoleMember}},
		Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	admin, err := i.door(func(o *Options) { o.Principal, o.Groups = "email", "roles" }).Authenticate(t.Context(),
		show(i.sign(t, "k1", map[string]any{"email": "o@example.org", "roles": "ops"})))
	if err != nil || admin.Principal != "oidc:o@example.org" || !admin.May(auth.Admin) {
		t.Errorf("%+v, %v", admin, err)
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	i := newIssuer(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := i.sign(t, "k1", nil)
	parts := strings.Split(good, ".")
	b64 := func(v any) string {
		js, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(js)
	}
	for name, text := range map[string]string{
		"expired":         i.sign(t, "k1", map[string]any{"exp": start.Add(-time.Second).Unix()}),
		"not yet":         i.sign(t, "k1", map[string]any{"nbf": start.Add(time.Hour).Unix()}),
		"no end":          i.sign(t, "k1", map[string]any{"exp": nil}),
		"other audience":  i.sign(t, "k1", map[string]any{"aud": "mail"}),
		"no audience":     i.sign(t, "k1", map[string]any{"aud": nil}),
		"other issuer":    i.sign(t, "k1", map[string]any{"iss": "https://evil.example"}),
		"nobody":          i.sign(t, "k1", map[string]any{"sub": ""}),
		"a number":        i.sign(t, "k1", map[string]any{"sub": 7}),
		"a bad name":      i.sign(t, "k1", map[string]any{"sub": "a\nb"}),
		"other key":       signed(t, other, "k1", i.claims(nil)),
		"unknown key":     signed(t, other, "k9", i.claims(nil)),
		"none":            b64(map[string]any{"alg": "none"}) + "." + parts[1] + ".",
		"secret key":      b64(map[string]any{"alg": "HS256", "kid": "k1"}) + "." + parts[1] + "." + parts[2],
		"other claims":    parts[0] + "." + b64(i.claims(map[string]any{"sub": "root"})) + "." + parts[2],
		"no signature":    parts[0] + "." + parts[1] + ".",
		"two parts":       parts[0] + "." + parts[1],
		"garbage":         "a.b.c",
		"a token of ours": auth.Prefix + strings.Repeat("0", 64),
		"long":            strings.Repeat("a", maxToken) + "." + parts[1] + "." + parts[2],
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := i.door(nil).Authenticate(t.Context(), show(text)); !errors.Is(err, auth.ErrRefused) || id.May(auth.Calls) {
				t.Errorf("%+v, %v", id, err)
			}
		})
	}
	if _, err := i.door(nil).Authenticate(t.Context(), auth.Credentials{}); !errors.Is(err, auth.ErrMissing) {
		t.Errorf("nothing: %v", err)
	}
}

// An issuer that is down is no reason to let anybody in, nor to call a token wrong; it may come later, and change its keys.
func TestTheIssuerComesAndGoes(t *testing.T) {
	i := newIssuer(t)
	i.set(true)
	door := i.door(nil)
	ask := func(text string) error { _, err := door.Authenticate(t.Context(), show(text)); return err }
	if err := ask(i.sign(t, "k1", nil)); err == nil || errors.Is(err, auth.ErrRefused) || !strings.Contains(err.Error(), i.URL) {
		t.Errorf("down: %v", err)
	}
	i.set(false)
	i.skew.Add(int64(calmFor))
	if err := ask(i.sign(t, "k1", nil)); err != nil {
		t.Errorf("up: %v", err)
	}
	i.set(true)
	if err := ask(i.sign(t, "k1", nil)); err != nil {
		t.Errorf("with known keys: %v", err)
	}
	i.add(t, "k2")
	i.skew.Add(int64(calmFor))
	if err := ask(i.sign(t, "k2", nil)); err == nil || errors.Is(err, auth.ErrRefused) {
		t.Errorf("a new key while it is down: %v", err)
	}
	i.set(false)
	i.skew.Add(int64(calmFor))
	if err := ask(i.sign(t, "k2", nil)); err != nil {
		t.Errorf("a new key: %v", err)
	}
}

// Whoever sends tokens with unknown keys does not make us ask the issuer each time.
func TestTheIssuerIsLeftInPeace(t *testing.T) {
	i := newIssuer(t)
	door := i.door(nil)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		text := signed(t, other, "k"+strings.Repeat("x", n), i.claims(nil))
		if _, err := door.Authenticate(context.Background(), show(text)); !errors.Is(err, auth.ErrRefused) {
			t.Fatal(err)
		}
	}
	if n := i.asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
