package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Prefix starts every token, so that people and scanners know one when they see it.
const Prefix = "hct_"

const tokenBytes = 32

// Secret is a token's text. It prints as [redacted], or as an address within what has no name for it; only
// [Secret.Reveal] gives it away.
type Secret struct{ text *string }

// NewSecret takes over a text that a request or a file holds.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether there is none.
func (s Secret) Empty() bool { return s.Reveal() == "" }

const redacted = "[redacted]"

// String implements [fmt.Stringer].
func (Secret) String() string { return redacted }

// GoString implements [fmt.GoStringer].
func (Secret) GoString() string { return redacted }

// MarshalText keeps the text out of JSON.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// wellFormed reports whether the text can be a token at all.
func (s Secret) wellFormed() bool {
	rest, ok := strings.CutPrefix(s.Reveal(), Prefix)
	return ok && len(rest) == 2*tokenBytes && strings.Trim(rest, "0123456789abcdef") == ""
}

// Digest is what is kept of a token's text: its sha-256. The text has 256 random bits, so that there is nothing to guess
// and a slow hash, which passwords need, would only cost time.
type Digest [sha256.Size]byte

// Digest returns the digest of the text.
func (s Secret) Digest() Digest { return sha256.Sum256([]byte(s.Reveal())) }

// Token is everything about a token but its text.
type Token struct {
	ID        string       `json:"id"` // names it; no secret
	Note      string       `json:"note,omitempty"`
	Principal string       `json:"principal"`
	Groups    []Membership `json:"groups,omitempty"`
	Agent     string       `json:"agent,omitempty"`
	Scopes    []Scope      `json:"scopes"`
	Created   time.Time    `json:"created"`
	Expires   time.Time    `json:"expires,omitzero"` // zero: never
	Revoked   time.Time    `json:"revoked,omitzero"` // zero: not
}

const (
	maxNote   = 200 // bytes
	maxGroups = 64
)

// Issue makes a token of t, with an id and a text of its own. What is kept of it is t and the text's digest.
func Issue(t Token, now time.Time) (Token, Secret, error) {
	t.ID, t.Created = "tok-"+random(6), now
	if err := t.Check(); err != nil {
		return Token{}, Secret{}, err
	}
	return t, NewSecret(Prefix + random(tokenBytes)), nil
}

// random returns n random bytes in hex.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}

// Check says what is wrong with a token that is to be made.
func (t Token) Check() error {
	switch {
	case checkName(t.Principal) != nil:
		return fmt.Errorf("principal %q: %w", clip(t.Principal), checkName(t.Principal))
	case t.Agent != "" && checkName(t.Agent) != nil:
		return fmt.Errorf("agent %q: %w", clip(t.Agent), checkName(t.Agent))
	case len(t.Scopes) == 0:
		return errors.New("a token needs a scope: calls, skills:read, skills:write or admin")
	case len(t.Groups) > maxGroups:
		return fmt.Errorf("%d groups, at most %d are allowed", len(t.Groups), maxGroups)
	case len(t.Note) > maxNote:
		return fmt.Errorf("the note has %d bytes, at most %d are allowed", len(t.Note), maxNote)
	case !t.Expires.IsZero() && !t.Expires.After(t.Created):
		return errors.New("the token would have expired already")
	}
	var seen []string
	for _, m := range t.Groups {
		if slices.Contains(seen, m.Group) {
			return fmt.Errorf("group %s is named twice", m.Group)
		}
		seen = append(seen, m.Group)
	}
	return nil
}

// Lives reports whether the token opens anything at this time.
func (t Token) Lives(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

func (t Token) identity() Identity {
	return Identity{Principal: t.Principal, Groups: t.Groups, Agent: t.Agent, Scopes: t.Scopes}
}
