package a2ahost

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// reader is who reads an answer, as far as it matters for its form.
type reader string

// goSDK, as of 2.4.0, reads the scopes of a security requirement as a list, and fails on the object that the specification has
// there; and where it asked JSON-RPC for a stream it takes an answer that is none for an empty one. It calls itself by the name
// of Go's HTTP client.
const goSDK reader = "go "

func readerOf(r *http.Request) reader {
	if strings.HasPrefix(r.UserAgent(), "Go-http-client/") {
		return goSDK
	}
	return ""
}

// specCard is a card as the specification has it, where the SDK's differs.
type specCard struct {
	*a2a.AgentCard
	SecurityRequirements []specRequirement `json:"securityRequirements,omitempty"`
}

type specRequirement struct {
	Schemes map[a2a.SecuritySchemeName]specScopes `json:"schemes"`
}

type specScopes struct {
	List []string `json:"list"`
}

// form returns a card in a form that its reader can read.
func (by reader) form(c *a2a.AgentCard) any {
	if by == goSDK {
		return c
	}
	out := specCard{AgentCard: c}
	for _, option := range c.SecurityRequirements {
		one := specRequirement{map[a2a.SecuritySchemeName]specScopes{}}
		for name, scopes := range option {
			one.Schemes[name] = specScopes{scopes}
		}
		out.SecurityRequirements = append(out.SecurityRequirements, one)
	}
	return out
}
