package doctor

import (
	"context"
	"fmt"
	"strings"
)

// Pins are the tags that are pinned to content.
type Pins struct {
	Total   int
	Missing []string // what is pinned and not here
	Failed  string   // why nobody knows
}

// mostMissing is how many pins are named.
const mostMissing = 5

// pins: is what calls would get there? A host on which nothing is pinned yet has no row.
func (e *exam) pins() {
	const id = "pins"
	p := e.facts.Pins
	switch n := len(p.Missing); {
	case p.Failed != "":
		e.add(id, Warn, clean(p.Failed, 2*maxWord), "calls whose image may be pinned are refused: mend hotcell.lock, or remove it")
	case n > 0:
		named := make([]string, 0, mostMissing)
		for _, m := range p.Missing[:min(n, mostMissing)] {
			named = append(named, word(m))
		}
		text := strings.Join(named, ", ")
		if n > mostMissing {
			text += fmt.Sprintf(" and %d more", n-mostMissing)
		}
		e.add(id, Warn, "pinned and not here: "+text, "the first call fetches them where policy.images.pull lets it; 'hotcell images pull NAME' fetches what the tag is now")
	case p.Total > 0:
		e.ok(id, "%d in hotcell.lock, all here", p.Total)
	}
}

func (f *Facts) pins(ctx context.Context, from Sources) {
	if from.Pins == nil {
		return
	}
	pins, err := bounded(ctx, askLimit, from.Pins)
	f.Pins = pins
	if err != nil {
		f.Pins.Failed = reason(err)
	}
}
