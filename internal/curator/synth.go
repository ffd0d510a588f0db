package curator

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// entryFile is made from a skill's fields.
const entryFile = "SKILL.md"

// skillMD is a custom skill's SKILL.md.
func skillMD(name string, c catalog.Content) string {
	var b strings.Builder
	b.WriteString("---\nname: " + scalar(name) + "\ndescription: " + scalar(c.Description) + "\n")
	tools := ""
	if c.AllowedTools != nil {
		tools = *c.AllowedTools
	}
	for _, f := range []struct{ key, text string }{{"license", c.License}, {"compatibility", c.Compatibility}, {"allowed-tools", tools}} {
		if f.text != "" {
			b.WriteString(f.key + ": " + scalar(f.text) + "\n")
		}
	}
	if len(c.Metadata) > 0 {
		b.WriteString("metadata:\n")
		for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
			b.WriteString("  " + scalar(key) + ": " + scalar(c.Metadata[key]) + "\n")
		}
	}
	b.WriteString("---\n\n" + c.Body)
	return b.String()
}

// plainText needs no quotes, unless it is one of YAML's short words such as null.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _.,()/-]*[A-Za-z0-9.)]$`)

const longestWord = 5 // of those that are no text: false

// scalar is a text as YAML.
func scalar(s string) string {
	if plainText.MatchString(s) && (len(s) > longestWord || strings.ContainsAny(s, " -")) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
