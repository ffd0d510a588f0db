package a2ahost

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
)

// teller says in the words of A2A what a skill says. It is told every event of a call from the first on, in order.
type teller struct {
	id    identity
	begun map[string]bool // the artifacts; the supervisor bounds how many there are
}

func newTeller(id identity) *teller { return &teller{id: id, begun: map[string]bool{}} }

// tell returns an artifact's piece for an artifact's, and a status for everything else.
func (t *teller) tell(ev *a2e.Event) a2a.Event {
	if ev.Kind == a2e.KindArtifact {
		if piece := t.piece(ev); piece != nil {
			return piece
		}
	}
	text, _ := ev.Data["message"].(string)
	update := &a2a.TaskStatusUpdateEvent{
		TaskID: a2a.TaskID(t.id.task), ContextID: t.id.context,
		Status:   a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: stamp(seconds(ev.TS))},
		Metadata: map[string]any{"kind": ev.Kind, "seq": ev.Seq, "data": ev.Data},
	}
	if text != "" {
		update.Status.Message = t.id.says(ev.ID, text)
		update.Metadata["data"] = without(ev.Data, "message")
	}
	return update
}

func (t *teller) piece(ev *a2e.Event) *a2a.TaskArtifactUpdateEvent {
	piece, err := a2e.PieceOf(ev)
	if err != nil || piece.Name == "" {
		return nil // the supervisor lets none through
	}
	update := &a2a.TaskArtifactUpdateEvent{
		TaskID: a2a.TaskID(t.id.task), ContextID: t.id.context, Append: t.begun[piece.Name], LastChunk: piece.Final,
		Artifact: &a2a.Artifact{
			ID: fileID(piece.Name), Name: piece.Name,
			Parts: a2a.ContentParts{{Content: a2a.Raw(piece.Content), Filename: piece.Name, MediaType: piece.Mime}},
		},
	}
	t.begun[piece.Name] = true
	return update
}

// fileID and resultID are the ids of a task's artifacts: its files by their names, and what the skill returned.
func fileID(name string) a2a.ArtifactID { return a2a.ArtifactID("file:" + name) }

const resultID a2a.ArtifactID = "result"

// says is a message of the agent's. Its id is the same whenever it is told.
func (i identity) says(id, text string) *a2a.Message {
	return &a2a.Message{
		ID: id, TaskID: a2a.TaskID(i.task), ContextID: i.context, Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{{Content: a2a.Text(text)}},
	}
}

func without(data map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range data {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// stamp is a time as A2A writes it: UTC, in milliseconds. The zero time is none.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

func seconds(ts float64) time.Time {
	if ts <= 0 || ts > math.MaxInt32*4 {
		return time.Time{}
	}
	return time.UnixMicro(int64(ts * 1e6))
}

// pieces puts a task together from its updates: the artifacts, and the last of what was said.
type pieces struct {
	order []*a2a.Artifact
	byID  map[a2a.ArtifactID]*a2a.Artifact
	open  map[a2a.ArtifactID]bool // more of it is to come
	said  []*a2a.Message
	bytes int // of the artifacts
	next  int // the sequence number of the event that follows
	gap   bool
	full  bool // no more artifacts are taken
}

// mostSaid bounds the messages of a task's history that its skill said.
const mostSaid = 100

func (p *pieces) take(update a2a.Event) {
	switch u := update.(type) {
	case *a2a.TaskStatusUpdateEvent:
		if u.Status.Message != nil && u.Status.State == a2a.TaskStateWorking {
			p.said = append(p.said, u.Status.Message)
			if len(p.said) > 2*mostSaid {
				p.said = slices.Clone(p.said[mostSaid:])
			}
		}
	case *a2a.TaskArtifactUpdateEvent:
		if u.Artifact.ID != resultID { // which the record has
			p.artifact(u)
		}
	}
}

func (p *pieces) artifact(u *a2a.TaskArtifactUpdateEvent) {
	if p.byID == nil {
		p.byID, p.open = map[a2a.ArtifactID]*a2a.Artifact{}, map[a2a.ArtifactID]bool{}
	}
	size := len(u.Artifact.Parts[0].Raw())
	whole, raw := p.byID[u.Artifact.ID], a2a.Raw(u.Artifact.Parts[0].Raw())
	if p.full = p.full || p.bytes+size > mostInTask; p.full {
		p.open[u.Artifact.ID] = true
		if whole != nil {
			return
		}
		raw, size = a2a.Raw{}, 0 // that it is there is said all the same
	} else {
		p.open[u.Artifact.ID] = !u.LastChunk
	}
	p.bytes += size
	if whole == nil {
		one := *u.Artifact
		content := *u.Artifact.Parts[0]
		content.Content = slices.Clone(raw)
		one.Parts = a2a.ContentParts{&content}
		p.byID[one.ID] = &one
		p.order = append(p.order, &one)
		return
	}
	sofar, _ := whole.Parts[0].Content.(a2a.Raw)
	whole.Parts[0].Content = append(sofar, raw...)
}

// artifacts are those that there are. One that lacks something says so.
func (p *pieces) artifacts(ended bool) []*a2a.Artifact {
	for _, one := range p.order {
		if p.gap || ended && p.open[one.ID] {
			one.SetMeta("complete", false)
		}
	}
	return p.order
}

// resultOf is the artifact of what a skill returned, nil where that is nothing.
func resultOf(id identity, r *a2e.Result) *a2a.Artifact {
	if r == nil || r.Data == nil {
		return nil
	}
	raw, err := json.Marshal(r.Data)
	if err != nil || string(raw) == "null" {
		return nil
	}
	one := &a2a.Artifact{ID: resultID, Name: "result"}
	if id.text {
		one.Parts = a2a.ContentParts{{Content: a2a.Text(asText(raw)), MediaType: mediaText}}
	} else {
		one.Parts = a2a.ContentParts{{Content: a2a.Data{Value: json.RawMessage(raw)}, MediaType: mediaJSON}}
	}
	if r.Truncated {
		one.SetMeta("truncated", true)
	}
	return one
}

// asText is a result for who takes only text: a string as it is, an object of one string that string, other things as JSON.
func asText(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && len(object) == 1 {
		for _, v := range object {
			if json.Unmarshal(v, &text) == nil {
				return text
			}
		}
	}
	return string(raw)
}
