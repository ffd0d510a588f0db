package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxAllowed is how many skills an allowlist may name.
const MaxAllowed = 1000

// maxSlug is the longest name that an allowlist takes, in bytes.
const maxSlug = 128

// Fold is the form in which names of skills are compared.
func Fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// ParseAllowed reads an allowlist: a JSON list of names, or a string that holds one; null and nothing are no allowlist at all.
// Names are folded, and each is there once.
func ParseAllowed(raw []byte) (*[]string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" { // null leaves the string empty
		raw = []byte(text)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil || names == nil {
		return nil, errors.New("expected a list of names of skills, or a string that holds one as JSON")
	}
	return CheckAllowed(names)
}

// CheckAllowed folds the names of an allowlist, and refuses what is none.
func CheckAllowed(names []string) (*[]string, error) {
	out := make([]string, 0, len(names))
	for _, name := range names {
		folded := Fold(name)
		switch {
		case folded == "" || len(folded) > maxSlug || strings.ContainsFunc(folded, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, fmt.Errorf("%.40q is no name of a skill", name)
		case !slices.Contains(out, folded):
			out = append(out, folded)
		}
		if len(out) > MaxAllowed {
			return nil, fmt.Errorf("more than %d names", MaxAllowed)
		}
	}
	return &out, nil
}
