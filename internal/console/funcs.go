package console

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// funcs are what templates may call.
func funcs() template.FuncMap {
	return template.FuncMap{
		"at": at, "bytes": sizeText, "took": tookText, "stamp": stamp, "clock": clock, "iso": iso, "verdict": verdictOf, "plain": plainText,
		"count": countText, "json": jsonText, "short": short, "join": strings.Join, "percent": percent[int], "plural": plural,

		"fieldtext": fieldText, "fieldvalue": valueText, "party": partyText, "recent": recent, "named": named, "text": textOf,
	}
}

// sizeText is a number of bytes for people, in the units in which limits are written: "3.2 MiB".
func sizeText(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if f /= 1 << 10; f < 1<<10-0.5 {
			return trimmed(f) + " " + unit
		}
	}
	return trimmed(f/(1<<10)) + " TiB"
}

func trimmed(f float64) string {
	if f >= 99.95 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// tookText is a duration for people: "850 µs", "12 ms", "1.4 s", "3 min 20 s", "2 h 5 min".
func tookText(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return trimmed(float64(d.Microseconds())/1000) + " ms"
	case d < time.Minute:
		return trimmed(d.Seconds()) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// stamp is a time to the second, in UTC; scripts make it the reader's own.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// clock is a time of day, in UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("15:04:05 UTC")
}

// recent reports whether the time of day alone says when something was.
func recent(t time.Time) bool { return time.Since(t).Abs() < 12*time.Hour }

// iso is a time for machines.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// verdict is how a call stands, for a badge: its class and its word.
type verdict struct{ Class, Word string }

// verdictOf says how a call stands.
func verdictOf(c control.Call) verdict {
	switch {
	case c.State == control.Queued:
		return verdict{"wait", "queued"}
	case !c.State.Terminal():
		return verdict{"run", strings.ToLower(string(c.State))}
	case c.State == control.Succeeded:
		return verdict{"good", "succeeded"}
	case c.State == control.Canceled:
		return verdict{"off", "canceled"}
	case c.Code == "":
		return verdict{"bad", "failed"}
	}
	return verdict{"bad", plainText(clip(string(c.Code), 40))}
}

// plainText takes from a text what would disturb a page: control characters and those that turn the direction of writing.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// countText is a number with thin spaces between thousands.
func countText(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// jsonText is a value as indented JSON. Templates escape it, so it does not.
func jsonText(v any) string {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if to.Encode(v) != nil {
		return "it has no JSON form"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// short is the beginning of a digest or an id.
func short(s string) string { return clip(strings.TrimPrefix(s, "sha256:"), 12) }

// percent is a part of a whole.
func percent[N int | uint64](part, whole N) string {
	if whole == 0 {
		return "–"
	}
	return trimmed(100*float64(part)/float64(whole)) + " %"
}

// plural is a number with its noun: 1 call, 2 calls.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return countText(n) + " " + more
}

// textOf is a text that may not be there.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
