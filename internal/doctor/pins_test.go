package doctor

import (
	"strings"
	"testing"
)

func TestPins(t *testing.T) {
	for name, tt := range map[string]struct {
		pins  Pins
		level Level
		says  string
	}{
		"none":          {Pins{}, "", ""},
		"all here":      {Pins{Total: 3}, OK, "3 in hotcell.lock, all here"},
		"one missing":   {Pins{Total: 3, Missing: []string{"team/x:1 (aaaa)"}}, Warn, "pinned and not here: team/x:1 (aaaa)"},
		"many missing":  {Pins{Total: 9, Missing: strings.Split("a b c d e f g", " ")}, Warn, "pinned and not here: a, b, c, d, e and 2 more"},
		"nobody knows":  {Pins{Failed: "hotcell.lock can't be read"}, Warn, "can't be read"},
		"hostile names": {Pins{Total: 1, Missing: []string{"a\x1b[31m\nb"}}, Warn, "pinned and not here: a"},
	} {
		t.Run(name, func(t *testing.T) {
			f := reference()
			f.Pins = tt.pins
			var found []Check
			for _, c := range Examine(f).Checks {
				if c.ID == "pins" {
					found = append(found, c)
				}
			}
			if tt.says == "" {
				if len(found) != 0 {
					t.Errorf("got %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Level != tt.level || !strings.Contains(found[0].Found, tt.says) || strings.ContainsAny(found[0].Found, "\x1b\n") {
				t.Errorf("got %+v, want %s", found, tt.says)
			}
		})
	}
}
