package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	lib "github.com/coreos/go-oidc/v3/oidc"

	"github.com/hotcell/hotcell/internal/auth"
)

// Options say whose tokens count, and what is read from them.
type Options struct {
	Issuer    string // its URL, as it stands in tokens
	Audience  string // what a token must be made for
	Principal string // the claim that names the principal; "": sub
	Groups    string // the claim that lists its groups; "": groups
	Admins    []string
	Now       func() time.Time  // nil: time.Now
	Transport http.RoundTripper // nil: one of its own
}

// prefix is before every name that comes from an issuer, so that none can be that of a user of this host or of a token.
const prefix = "oidc:"

const (
	maxGroups = 256      // of one token; the rest do not count
	maxToken  = 16 << 10 // bytes
)

// Authenticator checks tokens. It is safe for concurrent use.
type Authenticator struct {
	opt    Options
	client *http.Client

	mu       sync.Mutex
	verifier *lib.IDTokenVerifier // nil until the issuer has answered
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New returns an authenticator. Nobody is asked yet.
func New(o Options) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Principal == "" {
		o.Principal = "sub"
	}
	if o.Groups == "" {
		o.Groups = "groups"
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	return &Authenticator{opt: o, client: &http.Client{
		Timeout: askTimeout, Transport: newCalm(o.Transport, o.Now),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Authenticate implements [auth.Authenticator]: of credentials it looks at the token alone.
func (a *Authenticator) Authenticate(ctx context.Context, c auth.Credentials) (auth.Identity, error) {
	text := c.Bearer.Reveal()
	switch {
	case c.Bearer.Empty():
		return auth.Identity{}, auth.ErrMissing
	case len(text) > maxToken || strings.Count(text, ".") != 2:
		return auth.Identity{}, auth.ErrRefused
	}
	v, err := a.ready()
	if err != nil {
		return auth.Identity{}, err
	}
	var unfetched error
	token, err := v.Verify(context.WithValue(ctx, fetchKey{}, &unfetched), text)
	switch {
	case unfetched != nil:
		return auth.Identity{}, fmt.Errorf("issuer %s: %w", a.opt.Issuer, unfetched)
	case err != nil && ctx.Err() != nil:
		return auth.Identity{}, ctx.Err()
	case err != nil:
		return auth.Identity{}, auth.ErrRefused // which of the token's claims is wrong is nobody's business
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return auth.Identity{}, auth.ErrRefused
	}
	return a.identity(claims)
}

// ready returns the verifier, and asks the issuer where its keys are if nobody has yet.
func (a *Authenticator) ready() (*lib.IDTokenVerifier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verifier != nil {
		return a.verifier, nil
	}
	ctx := lib.ClientContext(context.Background(), a.client) // the keys outlive the request; the client has a time-out
	provider, err := lib.NewProvider(ctx, a.opt.Issuer)
	if err != nil {
		return nil, fmt.Errorf("issuer %s: %w", a.opt.Issuer, err)
	}
	var place struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&place); err != nil || place.Keys == "" {
		return nil, errors.Join(fmt.Errorf("issuer %s: it does not say where its keys are", a.opt.Issuer), err)
	}
	a.verifier = lib.NewVerifier(a.opt.Issuer, keys{lib.NewRemoteKeySet(ctx, place.Keys)}, &lib.Config{
		ClientID: a.opt.Audience, Now: a.opt.Now,
		SupportedSigningAlgs: []string{lib.RS256, lib.RS384, lib.RS512, lib.ES256, lib.ES384, lib.ES512, lib.PS256, lib.PS384, lib.PS512, lib.EdDSA},
	})
	return a.verifier, nil
}

// identity reads the claims of a token that is good.
func (a *Authenticator) identity(claims map[string]any) (auth.Identity, error) {
	name, _ := claims[a.opt.Principal].(string)
	id := auth.Identity{Principal: prefix + name, Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}}
	if name == "" || !auth.Name(id.Principal) {
		return auth.Identity{}, auth.ErrRefused
	}
	for _, g := range texts(claims[a.opt.Groups]) {
		m := auth.Membership{Group: prefix + g, Role: auth.RoleMember}
		if len(id.Groups) == maxGroups || !auth.Name(m.Group) || slices.Contains(id.Groups, m) {
			continue
		}
		id.Groups = append(id.Groups, m)
		if slices.Contains(a.opt.Admins, g) && !id.May(auth.Admin) {
			id.Scopes = append(id.Scopes, auth.Admin)
		}
	}
	return id, nil
}

// texts reads a list of texts, or one that stands alone.
func texts(claim any) []string {
	if s, ok := claim.(string); ok {
		return []string{s}
	}
	var all []string
	list, _ := claim.([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}
