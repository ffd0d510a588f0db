package relay

import (
	"encoding/base64"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// mostArtifacts bounds the names that are remembered, since "final once" needs a memory.
const mostArtifacts = 2000

// artifact returns the bytes that a chunk holds, or says why it cannot stand where it is: a name's last chunk comes once,
// and nothing comes after it (protocols decision 12).
func (r *Relay) artifact(e event) (size int64, why string) {
	if e.kind != a2e.KindArtifact {
		return 0, text(e.data["message"])
	}
	name, _ := e.data["name"].(string)
	chunk, _ := e.data["chunk"].(string)
	final, known := r.open[name]
	switch {
	case final:
		return 0, "artifact " + r.clip(name) + " had its final chunk before; a later chunk was dropped"
	case !known && len(r.open) >= mostArtifacts:
		return 0, "too many artifacts; one was dropped: " + r.clip(name)
	}
	r.open[name], _ = e.data["final"].(bool)
	padding := len(chunk) - len(strings.TrimRight(chunk, "="))
	return int64(base64.StdEncoding.DecodedLen(len(chunk)) - padding), ""
}
