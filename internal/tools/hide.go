package tools

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	redacted  = "[redacted]"
	leastHide = 8 // bytes of a value; a shorter one is in too much that holds no secret
)

// telling are what the names of secrets hold. Other values, such as folders and regions, are given in the same way and may be
// in any answer.
func telling() []string {
	return []string{"auth", "cookie", "cred", "key", "pass", "pwd", "secret", "token"}
}

// keepFrom sees to it that the secrets that a server is given are in nothing that it says: its tools' answers and errors go
// into cells, and what it writes to stderr into the log. This guards against accidents, such as an error that quotes a header.
func (s *server) keepFrom(given map[string]string) {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(telling(), func(word string) bool { return strings.Contains(strings.ToLower(name), word) }) {
			continue
		}
		for _, form := range spelled(given[name]) {
			if len(form) >= leastHide {
				pairs = append(pairs, form, redacted)
			}
		}
	}
	r := strings.NewReplacer(pairs...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = r
}

// spelled is a value as it is, without a scheme such as Bearer, and both as JSON writes them; the longest first.
func spelled(value string) (forms []string) {
	forms = []string{value}
	if _, bare, ok := strings.Cut(value, " "); ok {
		forms = append(forms, bare)
	}
	for _, form := range slices.Clone(forms) {
		if quoted, err := json.Marshal(form); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return forms
}

// hide takes what the server was given out of a text.
func (s *server) hide(text string) string {
	s.mu.Lock()
	r := s.hidden
	s.mu.Unlock()
	if r == nil {
		return text
	}
	return r.Replace(text)
}

// told is what a tool answered, as data.
func (s *server) told(res *mcp.CallToolResult) (any, error) {
	data, err := content(res)
	if err != nil {
		return nil, errors.New(s.hide(err.Error()))
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	hidden := json.RawMessage(s.hide(string(raw)))
	if !json.Valid(hidden) { // it was no text
		return nil, errors.New("the tool's answer holds what only its server may know")
	}
	return hidden, nil
}
