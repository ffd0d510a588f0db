package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuer is an OpenID Connect issuer on loopback, with one key.
type issuer struct {
	*httptest.Server
	key jose.SigningKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t",
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(t *testing.T, sub, audience string, groups ...string) string {
	t.Helper()
	signer, err := jose.NewSigner(i.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(map[string]any{
		"iss": i.URL, "aud": audience, "sub": sub, "groups": groups, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
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

// A daemon takes the tokens of the issuer that it is told of, made for it, and knows by them whose call is whose.
func TestTokensOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	d := serve(t, binary(t), "HOTCELL__AUTH__MODE=oidc", "HOTCELL__AUTH__OIDC__ISSUER="+i.URL, "HOTCELL__AUTH__OIDC__AUDIENCE=hotcell",
		"HOTCELL__AUTH__OIDC__ADMINS=ops")
	ask := func(token, method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, d.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(answer)
	}
	alice := i.token(t, "alice", "hotcell", "team")
	status, answer := ask(alice, "POST", "/v1/calls", `{"name": "code-review", "arguments": {"code": "import os\n"}}`)
	if status != http.StatusOK || !strings.Contains(answer, "unused-import") {
		t.Errorf("alice's call: %d %s", status, answer)
	}
	for name, tt := range map[string]struct {
		token  string
		path   string
		status int
		holds  string
	}{
		"her own call":          {alice, "/v1/calls", 200, `"principal":"oidc:alice"`},
		"none of another's":     {i.token(t, "bob", "hotcell"), "/v1/calls", 200, `"calls":[]`},
		"an operator sees all":  {i.token(t, "root", "hotcell", "ops"), "/v1/calls", 200, `"principal":"oidc:alice"`},
		"metrics for operators": {i.token(t, "root", "hotcell", "ops"), "/metrics", 200, "hotcell_calls_total"},
		"and for nobody else":   {alice, "/metrics", 403, "scope"},
		"made for another":      {i.token(t, "alice", "elsewhere"), "/v1/calls", 401, "not valid"},
		"of another issuer":     {newIssuer(t).token(t, "alice", "hotcell"), "/v1/calls", 401, "not valid"},
		"changed":               {alice[:len(alice)-4] + "AAAA", "/v1/calls", 401, "not valid"},
	} {
		if status, answer := ask(tt.token, "GET", tt.path, ""); status != tt.status || !strings.Contains(answer, tt.holds) {
			t.Errorf("%s: %d %.300s, want %d with %s", name, status, answer, tt.status, tt.holds)
		}
	}
}
