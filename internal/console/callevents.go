package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	eventsPage = 100     // events of a page
	eventsLive = 200     // events that a page shows while the call runs
	shownText  = 4 << 10 // bytes of an event's text or data
	shownData  = 64 << 10
	shortText  = 240 // bytes that stand without being folded
)

// eventRow is one event, for people.
type eventRow struct {
	Seq     int
	At      string // after the call's start
	Kind    string
	Class   string // of its badge
	Text    string
	Long    bool   // it is folded
	First   string // what stands where it is folded
	Pct     int    // of a progress; -1: none
	Data    string // what else it has, as JSON
	Name    string // of an artifact
	Bytes   int64
	Clipped bool
}

// eventList is a page of events.
type eventList struct {
	Rows    []eventRow
	Total   int // that the skill has sent
	Earlier int // that come before these
	Later   int // and after
	Prev,
	Next int // the first of the page before and after; Prev -1: none; Next 0: none
	Gone bool // they were sent and are not kept
}

// eachEvent calls f with at most most events of a call from a sequence number on. Events carry pieces of files, so f keeps what it
// needs of one and no more.
func (v *visit) eachEvent(ctx context.Context, id string, from, most int, f func(*a2e.Event)) error {
	for most > 0 {
		some, err := v.calls().Events(ctx, id, from)
		if err != nil || len(some) == 0 || some[len(some)-1].Seq < from {
			return err
		}
		from = some[len(some)-1].Seq + 1
		some = some[:min(len(some), most)]
		for i := range some {
			f(&some[i])
		}
		most -= len(some)
	}
	return nil
}

// listed makes rows of at most most events from one on. total is how many there are.
func (v *visit) listed(ctx context.Context, call control.Call, from, most int) (*eventList, error) {
	l := &eventList{Total: call.Events, Earlier: from, Prev: -1, Gone: from < call.Events}
	if from > 0 {
		l.Prev = max(0, from-eventsPage)
	}
	err := v.eachEvent(ctx, call.ID, from, most, func(ev *a2e.Event) { l.Rows = append(l.Rows, rowOf(ev, call.Accepted)) })
	if n := len(l.Rows); n > 0 {
		end := l.Rows[n-1].Seq + 1
		if l.Gone, l.Total = false, max(l.Total, end); l.Total > end {
			l.Later, l.Next = l.Total-end, end
		}
	}
	return l, err
}

func rowOf(ev *a2e.Event, began time.Time) eventRow {
	r := eventRow{Seq: ev.Seq, Kind: clip(ev.Kind, 20), Class: "off", Pct: -1, At: offset(eventTime(ev).Sub(began))}
	rest := maps.Clone(ev.Data)
	text := eventText(ev)
	switch ev.Kind {
	case a2e.KindProgress:
		r.Class = "run"
		if n, ok := wholeNumber(ev.Data["pct"]); ok {
			r.Pct = int(min(max(n, 0), 100))
		}
		delete(rest, "pct")
	case a2e.KindLog:
		level, _ := ev.Data["level"].(string)
		r.Kind, r.Class = clip(level, 20), map[string]string{"error": "bad", "warn": "warn"}[level]
		if r.Class == "" {
			r.Class = "off"
		}
		if r.Kind == "" {
			r.Kind = a2e.KindLog
		}
		delete(rest, "level")
	case a2e.KindArtifact:
		r.Class = "good"
		r.Name, _ = ev.Data["name"].(string)
		r.Bytes = chunkSize(ev)
		rest = nil
	}
	delete(rest, "message")
	if len(rest) > 0 {
		r.Data, _ = prettyJSON(rest, shownText)
	}
	r.fold(text)
	return r
}

// fold puts a text where it belongs: what is long or has many lines is folded.
func (r *eventRow) fold(text string) {
	r.Clipped = len(text) > shownText
	r.Text = clip(text, shownText)
	first, _, more := strings.Cut(strings.TrimSpace(r.Text), "\n")
	if r.Long = more || len(first) > shortText; r.Long {
		r.First = clip(first, shortText)
	}
}

// eventText is what an event says.
func eventText(ev *a2e.Event) string {
	switch s := ev.Data["message"].(type) {
	case string:
		return s
	case nil:
	default:
		text, _ := prettyJSON(s, shownText)
		return text
	}
	if ev.Kind == a2e.KindArtifact {
		name, _ := ev.Data["name"].(string)
		return "a piece of the file " + name
	}
	return ""
}

// lineless takes from base64 what stands for no byte.
var lineless = strings.NewReplacer("=", "", "\n", "", "\r", "")

// chunkSize is how many bytes an artifact's event carries, without decoding them.
func chunkSize(ev *a2e.Event) int64 {
	chunk, _ := ev.Data["chunk"].(string)
	return int64(len(lineless.Replace(chunk))) * 3 / 4
}

// eventTime is when an event was sent.
func eventTime(ev *a2e.Event) time.Time {
	if ev.TS <= 0 || ev.TS > 1e11 || math.IsNaN(ev.TS) {
		return time.Time{}
	}
	return time.UnixMicro(int64(ev.TS * 1e6))
}

// offset is a time after the start: "+1.25 s".
func offset(d time.Duration) string {
	if d < 0 || d > 1e6*time.Second {
		return "–"
	}
	if d < time.Minute {
		return "+" + strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return fmt.Sprintf("+%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
}

// prettyJSON is a value as indented JSON without escapes that only HTML needs, at most most bytes of it.
func prettyJSON(v any, most int) (text string, clipped bool) {
	if raw, ok := v.(json.RawMessage); ok {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			return clip(b.String(), most), b.Len() > most
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return "it has no JSON form", false
	}
	text = strings.TrimSuffix(b.String(), "\n")
	return clip(text, most), len(text) > most
}
