package a2ahost

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/catalog"
)

const fileInput = `{"type":"object","properties":{"image":{"type":"string","contentEncoding":"base64"},"at":{"type":"string","format":"uri"},"note":{"type":"string"}}}`

// chooser are skills that a message can mean.
func chooser() *shelf {
	return newShelf([]catalog.Entry{
		entry("echo", anything), entry("sum", numbers), entry("upper", oneText, func(e *catalog.Entry) { e.Definition.Triggers = []string{"Shout it", "loud"} }),
		entry("code-review", oneText, func(e *catalog.Entry) { e.Definition.Triggers = []string{"loud", "review my code"} }),
		entry("table", `{"type":"object","properties":{"csv":{"type":"string"},"sep":{"type":"string"},"doc":{"type":"string","contentMediaType":"application/xml"}}}`,
			func(e *catalog.Entry) { e.InputModes = []string{"application/json", "text/csv", "application/xml"} }),
		entry("view", fileInput, func(e *catalog.Entry) { e.InputModes = []string{"application/json", "image/*", "text/plain"} }),
	})
}

func TestChoice(t *testing.T) {
	tests := []struct {
		name, params string
		skill, args  string // args as JSON
		err          error
		field        string
	}{
		{"metadata of the message", `{"message":{"metadata":{"skill_id":"echo"},"parts":[{"data":{"x":1}}]}}`, "echo", `{"x":1}`, nil, ""},
		{"in camel case", `{"message":{"metadata":{"skillId":"echo"},"parts":[{"text":"hi"}]}}`, "echo", `{"text":"hi"}`, nil, ""},
		{"in short", `{"message":{"metadata":{"skill":"echo"},"parts":[{"text":"hi"}]}}`, "echo", `{"text":"hi"}`, nil, ""},
		{"of the message before that of the request", `{"metadata":{"skill_id":"upper"},"message":{"metadata":{"skill":"echo"},"parts":[{"data":{}}]}}`, "echo", `{}`, nil, ""},
		{"metadata of the request", `{"metadata":{"skill_id":"echo"},"message":{"parts":[{"data":{}}]}}`, "echo", `{}`, nil, ""},
		{"metadata before a data part", `{"metadata":{"skill":"echo"},"message":{"parts":[{"data":{"skill":"upper","arguments":{"x":2}}}]}}`, "echo", `{"x":2}`, nil, ""},
		{"a data part", `{"message":{"parts":[{"data":{"skill":"sum","arguments":{"a":1}}}]}}`, "sum", `{"a":1}`, nil, ""},
		{"a data part without arguments", `{"message":{"parts":[{"data":{"skill":"sum"}}]}}`, "sum", `{}`, nil, ""},
		{"a data part with other keys is arguments", `{"message":{"parts":[{"data":{"skill":"sum","arguments":{},"more":1}}]}}`, "", ``, nil, ""},
		{"however it is spelt", `{"message":{"metadata":{"skill":" Code_Review "},"parts":[{"text":"x"}]}}`, "code-review", `{"text":"x"}`, nil, ""},
		{"a trigger", `{"message":{"parts":[{"text":"please SHOUT IT now"}]}}`, "upper", `{"text":"please SHOUT IT now"}`, nil, ""},
		{"the longest trigger", `{"message":{"parts":[{"text":"review my code, loud"}]}}`, "code-review", `{"text":"review my code, loud"}`, nil, ""},
		{"a trigger of two", `{"message":{"parts":[{"text":"loud"}]}}`, "", ``, nil, ""},
		{"nothing", `{"message":{"parts":[{"text":"good morning"}]}}`, "", ``, nil, ""},
		{"an unknown id", `{"message":{"metadata":{"skill_id":"nope"},"parts":[{"text":"x"}]}}`, "", ``, a2a.ErrInvalidParams, "message.metadata.skill_id"},
		{"an unknown id in the request", `{"metadata":{"skill":"nope"},"message":{"parts":[{"text":"x"}]}}`, "", ``, a2a.ErrInvalidParams, "metadata.skill"},
		{"an unknown id in a part", `{"message":{"parts":[{"data":{"skill":"nope","arguments":{}}}]}}`, "", ``, a2a.ErrInvalidParams, "message.parts.data.skill"},
		{"an id that is no text", `{"message":{"metadata":{"skillId":7},"parts":[{"text":"x"}]}}`, "", ``, a2a.ErrInvalidParams, "message.metadata.skillId"},
		{"an id of null", `{"message":{"metadata":{"skillId":null,"skill":"echo"},"parts":[{"data":{}}]}}`, "echo", `{}`, nil, ""},

		{"text for a skill that takes none", `{"metadata":{"skill":"sum"},"message":{"parts":[{"text":"three"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"JSON as text", `{"metadata":{"skill":"sum"},"message":{"parts":[{"text":" {\"a\": 2} "}]}}`, "sum", `{"a":2}`, nil, ""},
		{"JSON as text of its type", `{"metadata":{"skill":"sum"},"message":{"parts":[{"text":"{\"a\":2}","mediaType":"application/json"}]}}`, "sum", `{"a":2}`, nil, ""},
		{"JSON for a text property by its names", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"{\"text\":\"y\"}"}]}}`, "upper", `{"text":"y"}`, nil, ""},
		{"JSON that is the text", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"{\"other\":1}"}]}}`, "upper", `{"text":"{\"other\":1}"}`, nil, ""},
		{"several texts", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"a"},{"text":"b"}]}}`, "upper", `{"text":"a\nb"}`, nil, ""},
		{"data wins over text", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"a"},{"data":{"text":"b"}}]}}`, "upper", `{"text":"b"}`, nil, ""},
		{"several data parts", `{"metadata":{"skill":"sum"},"message":{"parts":[{"data":{"a":1,"b":1}},{"data":{"b":2}}]}}`, "sum", `{"a":1,"b":2}`, nil, ""},
		{"data that is no object", `{"metadata":{"skill":"sum"},"message":{"parts":[{"data":[1]}]}}`, "", ``, a2a.ErrInvalidParams, "message.parts.data"},
		{"data of another type", `{"metadata":{"skill":"sum"},"message":{"parts":[{"data":{},"mediaType":"application/xml"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"a text of another type", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"x","mediaType":"text/html"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"a text with parameters in its type", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"x","mediaType":"text/plain; charset=utf-8"}]}}`, "upper", `{"text":"x"}`, nil, ""},
		{"JSON of its type that is none", `{"metadata":{"skill":"upper"},"message":{"parts":[{"text":"x","mediaType":"application/json"}]}}`, "", ``, a2a.ErrInvalidParams, "message.parts.text"},
		{"a text of the type of a property", `{"metadata":{"skill":"table"},"message":{"parts":[{"text":"a,b","mediaType":"text/csv"},{"data":{"n":1}}]}}`, "table", `{"csv":"a,b","n":1}`, nil, ""},
		{"a text of the type that a property says", `{"metadata":{"skill":"table"},"message":{"parts":[{"text":"y","mediaType":"application/xml"}]}}`, "table", `{"doc":"y"}`, nil, ""},
		{"a text of a type that is not declared", `{"metadata":{"skill":"table"},"message":{"parts":[{"text":"x","mediaType":"text/sep"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"a file for a skill that takes none", `{"metadata":{"skill":"echo"},"message":{"parts":[{"raw":"eHg=","mediaType":"image/png"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"an address for a skill that takes none", `{"metadata":{"skill":"echo"},"message":{"parts":[{"url":"http://127.0.0.1/x","mediaType":"image/png"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"a file for a skill that takes one", `{"metadata":{"skill":"view"},"message":{"parts":[{"raw":"eHg=","mediaType":"image/png"},{"text":"a note"}]}}`, "view", `{"image":"eHg=","note":"a note"}`, nil, ""},
		{"an address for a skill that takes one", `{"metadata":{"skill":"view"},"message":{"parts":[{"url":"https://x.example/y","mediaType":"image/gif"}]}}`, "view", `{"at":"https://x.example/y"}`, nil, ""},
		{"two files for a skill that takes one", `{"metadata":{"skill":"view"},"message":{"parts":[{"raw":"eHg=","mediaType":"image/png"},{"raw":"eHg=","mediaType":"image/png"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
		{"a file of another type", `{"metadata":{"skill":"view"},"message":{"parts":[{"raw":"eHg=","mediaType":"audio/wav"}]}}`, "", ``, a2a.ErrUnsupportedContentType, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p sendParams
			if err := decode([]byte(test.params), &p); err != nil {
				t.Fatal(err)
			}
			got, err := choose(chooser(), &p, nil)
			if test.err != nil {
				is(t, err, test.err)
				var f *fault
				if test.field != "" && (!errors.As(err, &f) || f.violations[0].Field != test.field) {
					t.Errorf("got %+v", f)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name, args := "", ""
			if got.skill != nil {
				b, _ := json.Marshal(got.arguments)
				name, args = got.skill.id, string(b)
			}
			if name != test.skill || args != test.args {
				t.Errorf("got %s %s, want %s %s", name, args, test.skill, test.args)
			}
		})
	}
}

func TestOnlySkill(t *testing.T) {
	s := newShelf([]catalog.Entry{hosted(), entry("skill", anything), entry("manage_skill", anything), entry("sum", numbers)})
	var p sendParams
	if err := decode([]byte(`{"message":{"parts":[{"data":{"a":1}}]}}`), &p); err != nil {
		t.Fatal(err)
	}
	if got, err := choose(s, &p, nil); err != nil || got.skill == nil || got.skill.id != "sum" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestModes(t *testing.T) {
	for name, test := range map[string]struct {
		schema   string
		declared []string
		want     string
	}{
		"none":              {`{}`, nil, "application/json text/plain"},
		"absent":            {``, nil, "application/json text/plain"},
		"null":              {`null`, nil, "application/json text/plain"},
		"any object":        {`{"type":"object"}`, nil, "application/json text/plain"},
		"an empty object":   {`{"type":"object","additionalProperties":false}`, nil, "application/json"},
		"numbers":           {numbers, nil, "application/json"},
		"one text":          {oneText, nil, "application/json text/plain"},
		"two texts":         {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, nil, "application/json"},
		"one of two needed": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, nil, "application/json text/plain"},
		"a text itself":     {`{"type":"string"}`, nil, "application/json text/plain"},
		"a list":            {`{"type":"array"}`, nil, "application/json"},
		"files are no text": {fileInput, nil, "application/json text/plain"},
		"odd":               {`{"type":"object","properties":{"a":true}}`, nil, "application/json"},
		"declared":          {oneText, []string{" Image/PNG ", "", "image/png"}, "image/png"},
	} {
		if got := strings.Join(modes(test.declared, shapeOf(json.RawMessage(test.schema))), " "); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestAcceptedOutputModes(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		for _, test := range []struct {
			skill    string
			accepted []string
			want     error
		}{
			{"events", nil, nil}, {"events", []string{"application/json"}, nil}, {"events", []string{"image/png", "APPLICATION/JSON; q=1"}, nil},
			{"events", []string{"*/*"}, nil}, {"events", []string{"application/*"}, nil}, {"events", []string{"text/*"}, nil},
			{"events", []string{"image/png"}, a2a.ErrUnsupportedContentType}, {catalogue, []string{"text/plain"}, a2a.ErrUnsupportedContentType},
		} {
			q := asks(test.skill)
			q.Config = &a2a.SendMessageConfig{AcceptedOutputModes: test.accepted}
			_, err := c.SendMessage(within(t), q)
			is(t, err, test.want)
		}
	})
}

// A message that means no skill gets a task that asks, and the answer goes on with that task.
func TestQuestion(t *testing.T) {
	for name, entries := range map[string][]catalog.Entry{"hosted": {hosted(), entry("echo", anything), entry("sum", numbers)}, "own": {entry("echo", anything), entry("sum", numbers)}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, newFake(entries...))
			for _, b := range bindings() {
				c := r.client(b, "")
				asked := sent(t, c, asks("", a2a.NewDataPart(map[string]any{"x": "kept"})))
				if asked.Status.State != a2a.TaskStateInputRequired || asked.Status.Message == nil || len(asked.Artifacts) != 0 {
					t.Fatalf("got %+v", asked)
				}
				listed, _ := json.Marshal(asked.Status.Message.Parts)
				if !strings.Contains(string(listed), "Which skill?") || !strings.Contains(string(listed), "echo") {
					t.Errorf("got %s", listed)
				}
				if got := r.state(c, asked.ID, a2a.TaskStateInputRequired); got.Status.Message == nil {
					t.Errorf("got %+v", got)
				}
				answer := asks("", a2a.NewTextPart("echo"))
				answer.Message.TaskID = asked.ID
				done := sent(t, c, answer)
				if done.ID != asked.ID || done.ContextID != asked.ContextID || done.Status.State != a2a.TaskStateCompleted || whole(done) != `result={"x":"kept"}` {
					t.Errorf("got %+v %s", done, whole(done))
				}
				if len(done.History) != 2 {
					t.Errorf("got %d messages", len(done.History))
				}
				_, err := c.SendMessage(within(t), answer)
				is(t, err, a2a.ErrUnsupportedOperation)
			}
		})
	}
}

func TestQuestionInAStream(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		all := streamed(t, c, asks("", a2a.NewTextPart("hm")))
		var states []a2a.TaskState
		for _, ev := range all {
			switch u := ev.(type) {
			case *a2a.Task:
				states = append(states, u.Status.State)
			case *a2a.TaskStatusUpdateEvent:
				states = append(states, u.Status.State)
			}
		}
		if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateInputRequired}, states); diff != "" {
			t.Error(diff)
		}
	})
}

// A stream of a task that asks goes on with its answer.
func TestSubscribeToAQuestion(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		asked := sent(t, c, asks(""))
		var got []string
		for ev, err := range c.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: asked.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			if first, ok := ev.(*a2a.Task); ok {
				got = append(got, "TASK "+string(first.Status.State))
				for _, text := range []string{"what?", "events"} {
					answer := asks("", a2a.NewTextPart(text))
					answer.Message.TaskID = asked.ID
					sent(t, c, answer)
				}
				continue
			}
			got = append(got, told(ev))
		}
		want := []string{
			"TASK TASK_STATE_INPUT_REQUIRED", "WORKING begun", "WORKING a line", "hello.txt Hello, ", "hello.txt + wor", "hello.txt + ld last",
			"WORKING nearly there", "result last", "COMPLETED ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		r.h.mu.Lock()
		defer r.h.mu.Unlock()
		if len(r.h.awaited) != 0 {
			t.Errorf("%d are still waited for", len(r.h.awaited))
		}
	})
}

func TestSubscribeToAQuestionThatIsCancelled(t *testing.T) {
	for name, entries := range map[string][]catalog.Entry{"hosted": {hosted(), entry("echo", anything), entry("sum", numbers)}, "own": {entry("echo", anything), entry("sum", numbers)}} {
		t.Run(name, func(t *testing.T) {
			c := open(t, newFake(entries...)).client(a2a.TransportProtocolJSONRPC, "")
			asked := sent(t, c, asks(""))
			last := ""
			for ev, err := range c.SubscribeToTask(within(t), &a2a.SubscribeToTaskRequest{ID: asked.ID}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := ev.(*a2a.Task); ok {
					if _, err := c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: asked.ID}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				last = told(ev)
			}
			if !strings.HasPrefix(last, "CANCELED") {
				t.Errorf("got %s", last)
			}
		})
	}
}

func TestAnswersThatDoNotFit(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		asked := sent(t, c, asks(""))
		vague := asks("", a2a.NewTextPart("the usual"))
		vague.Message.TaskID = asked.ID
		if got := sent(t, c, vague); got.ID != asked.ID || got.Status.State != a2a.TaskStateInputRequired || len(got.History) != 2 {
			t.Errorf("it should ask again: %+v", got)
		}
		other := asks("echo")
		other.Message.TaskID, other.Message.ContextID = asked.ID, "another"
		_, err := c.SendMessage(within(t), other)
		is(t, err, a2a.ErrInvalidParams)
		r.state(c, asked.ID, a2a.TaskStateInputRequired)
		same := asks("echo")
		same.Message.TaskID, same.Message.ContextID = asked.ID, asked.ContextID
		if got := sent(t, c, same); got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("got %+v", got)
		}
	})
}

func TestQuestionsAreCancelled(t *testing.T) {
	for name, entries := range map[string][]catalog.Entry{"hosted": {hosted(), entry("echo", anything), entry("sum", numbers)}, "own": {entry("echo", anything), entry("sum", numbers)}} {
		t.Run(name, func(t *testing.T) {
			f := newFake(entries...)
			r := open(t, f)
			c := r.client(a2a.TransportProtocolJSONRPC, "")
			asked := sent(t, c, asks(""))
			got, err := c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: asked.ID})
			if err != nil || got.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("got %+v, %v", got, err)
			}
			r.state(c, asked.ID, a2a.TaskStateCanceled)
			_, err = c.CancelTask(within(t), &a2a.CancelTaskRequest{ID: asked.ID})
			is(t, err, a2a.ErrTaskNotCancelable)
			if list, err := c.ListTasks(within(t), &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) != 1 || list.Tasks[0].Status.State != a2a.TaskStateCanceled {
				t.Errorf("got %+v, %v", list, err)
			}
			if name == "hosted" { // on record
				second := open(t, f)
				second.state(second.client(a2a.TransportProtocolJSONRPC, ""), asked.ID, a2a.TaskStateCanceled)
			}
		})
	}
}

func TestMessagesToTasksAtWork(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		running := sent(t, c, atOnce(asks("wait")))
		more := asks("echo")
		more.Message.TaskID = running.ID
		_, err := c.SendMessage(within(t), more)
		is(t, err, a2a.ErrUnsupportedOperation)
		close(r.f.release)
		r.state(c, running.ID, a2a.TaskStateCompleted)
		_, err = c.SendMessage(within(t), more)
		is(t, err, a2a.ErrUnsupportedOperation)
	})
}

func TestCatalogueLists(t *testing.T) {
	r := open(t, newFake(entry("echo", anything), entry("sum", numbers)))
	task := sent(t, r.client(a2a.TransportProtocolJSONRPC, ""), asks(catalogue))
	var got struct {
		Skills []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"skills"`
	}
	b, _ := json.Marshal(task.Artifacts[0].Parts[0].Data())
	if err := json.Unmarshal(b, &got); err != nil || len(got.Skills) != 3 || got.Skills[2].Name != "sum" || len(got.Skills[2].InputSchema) == 0 {
		t.Errorf("got %s, %v", b, err)
	}
	if saw, _ := r.f.seen(); len(saw) != 0 {
		t.Errorf("a call was made: %+v", saw)
	}
}
