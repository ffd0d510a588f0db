package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Scope is a kind of thing that an identity may do.
type Scope string

// The scopes.
const (
	Calls       Scope = "calls"        // run skills; see and cancel one's own calls
	SkillsRead  Scope = "skills:read"  // list and read skills
	SkillsWrite Scope = "skills:write" // write one's own skills
	Admin       Scope = "admin"        // all of these, for everybody's calls, and the metrics
)

// Scopes returns all scopes, the weakest first.
func Scopes() []Scope { return []Scope{Calls, SkillsRead, SkillsWrite, Admin} }

// ParseScope reads a scope's name.
func ParseScope(s string) (Scope, error) {
	if slices.Contains(Scopes(), Scope(s)) {
		return Scope(s), nil
	}
	return "", fmt.Errorf("unknown scope %q: expected calls, skills:read, skills:write or admin", clip(s))
}

// Role is what a principal is within a group.
type Role string

// The roles. A member may read what is the group's, an admin and an owner may write it too.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
)

// Membership is a principal's place in a group.
type Membership struct {
	Group string `json:"group"`
	Role  Role   `json:"role"`
}

// String returns the form that [ParseMembership] reads.
func (m Membership) String() string { return m.Group + "=" + string(m.Role) }

// ParseMembership reads "GROUP", which makes a member, or "GROUP=ROLE".
func ParseMembership(s string) (Membership, error) {
	group, role, given := strings.Cut(s, "=")
	m := Membership{Group: group, Role: Role(role)}
	if !given {
		m.Role = RoleMember
	}
	switch {
	case !Name(group):
		return Membership{}, fmt.Errorf("group %q: expected %s", clip(group), nameRule)
	case !slices.Contains([]Role{RoleMember, RoleAdmin, RoleOwner}, m.Role):
		return Membership{}, fmt.Errorf("group %s: unknown role %q: expected member, admin or owner", group, clip(role))
	}
	return m, nil
}

// Identity is who makes a request. It is a value: nobody changes one that was handed out.
type Identity struct {
	Principal string // who pays and is accountable; "" where nothing authenticates
	Groups    []Membership
	Agent     string // the only agent that it may speak as; "": any
	Scopes    []Scope
}

// Nobody is who calls where nothing authenticates: no principal, and nothing is refused.
func Nobody() Identity { return Identity{Scopes: []Scope{Admin}} }

// May reports whether the identity has a scope.
func (id Identity) May(s Scope) bool {
	return slices.Contains(id.Scopes, s) || slices.Contains(id.Scopes, Admin)
}

// Role returns what the identity is within a group, "" for a stranger.
func (id Identity) Role(group string) Role {
	for _, m := range id.Groups {
		if m.Group == group {
			return m.Role
		}
	}
	return ""
}

// Caller returns the identity in the words of a [a2e.Handler].
func (id Identity) Caller(door string) a2e.Caller {
	who := a2e.Caller{Principal: id.Principal, Agent: id.Agent, Door: door, Admin: id.May(Admin)}
	for _, m := range id.Groups {
		if who.Groups == nil {
			who.Groups = map[string]string{}
		}
		who.Groups[m.Group] = string(m.Role)
	}
	return who
}

// As returns the identity as it speaks for an agent: any, unless it is bound to one. [ErrAgent] if it is another's.
func (id Identity) As(agent string) (Identity, error) {
	switch {
	case agent == "":
		return id, nil
	case id.Agent != "" && id.Agent != agent:
		return Identity{}, ErrAgent
	}
	id.Agent = agent
	return id, nil
}

type contextKey struct{}

// NewContext returns a context that carries who makes the request.
func NewContext(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// FromContext returns who makes the request. Without one it is an identity that may do nothing.
func FromContext(ctx context.Context) Identity {
	id, _ := ctx.Value(contextKey{}).(Identity)
	return id
}

const (
	maxName  = 128 // bytes
	nameRule = "at most 128 letters, digits and . _ - : @ + | /, a letter or digit first"
)

// Name reports whether s can name a principal, a group or an agent.
func Name(s string) bool { return checkName(s) == nil }

func checkName(s string) error {
	ok := s != "" && len(s) <= maxName
	for i, r := range s {
		plain := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		ok = ok && (plain || i > 0 && strings.ContainsRune("._-:@+|/", r))
	}
	if !ok {
		return errors.New("expected " + nameRule)
	}
	return nil
}

// clip keeps what a user wrote short enough to be repeated.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
