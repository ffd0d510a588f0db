package a2ahost

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Bounds of a request.
const (
	maxBody  = 1 << 20 // bytes
	maxDepth = 64      // of lists and objects in one another
	maxParts = 64
)

// sendParams is a SendMessageRequest. Numbers in it stay as they are written.
type sendParams struct {
	Message       *message       `json:"message"`
	Configuration *configuration `json:"configuration"`
	Metadata      map[string]any `json:"metadata"`
}

type message struct {
	MessageID  string         `json:"messageId"`
	ContextID  string         `json:"contextId"`
	TaskID     string         `json:"taskId"`
	Role       string         `json:"role"`
	Parts      []*part        `json:"parts"`
	Metadata   map[string]any `json:"metadata"`
	Extensions []string       `json:"extensions"`
	References []string       `json:"referenceTaskIds"`
}

type part struct {
	Text      *string         `json:"text"`
	Raw       *string         `json:"raw"` // base64
	URL       *string         `json:"url"`
	Data      json.RawMessage `json:"data"`
	Filename  string          `json:"filename"`
	MediaType string          `json:"mediaType"`
	Metadata  map[string]any  `json:"metadata"`
}

type configuration struct {
	AcceptedOutputModes []string        `json:"acceptedOutputModes"`
	Push                json.RawMessage `json:"taskPushNotificationConfig"`
	HistoryLength       *int            `json:"historyLength"`
	ReturnImmediately   bool            `json:"returnImmediately"`
}

// taskParams is a GetTaskRequest, CancelTaskRequest and SubscribeToTaskRequest.
type taskParams struct {
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength"`
}

// The names of fields come in camel case, or as they are in the specification's proto file, which readers of its JSON take too.

func (p *sendParams) UnmarshalJSON(b []byte) error {
	type plain sendParams
	return inCamelCase(b, (*plain)(p))
}

func (m *message) UnmarshalJSON(b []byte) error {
	type plain message
	return inCamelCase(b, (*plain)(m))
}

func (p *part) UnmarshalJSON(b []byte) error {
	type plain part
	return inCamelCase(b, (*plain)(p))
}

func (c *configuration) UnmarshalJSON(b []byte) error {
	type plain configuration
	return inCamelCase(b, (*plain)(c))
}

func (p *taskParams) UnmarshalJSON(b []byte) error {
	type plain taskParams
	return inCamelCase(b, (*plain)(p))
}

func (p *listParams) UnmarshalJSON(b []byte) error {
	type plain listParams
	return inCamelCase(b, (*plain)(p))
}

// inCamelCase decodes an object. It renames the fields of that object alone, and numbers stay as they are written.
func inCamelCase(b []byte, v any) error {
	var object map[string]json.RawMessage
	if bytes.Contains(b, []byte("_")) && json.Unmarshal(b, &object) == nil {
		renamed := false
		for key, value := range object {
			if camel := camelCase(key); camel != key && object[camel] == nil {
				delete(object, key)
				object[camel], renamed = value, true
			}
		}
		if renamed {
			b, _ = json.Marshal(object) // of JSON that was read
		}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// camelCase turns history_length into historyLength.
func camelCase(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w == "" {
			return key
		}
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// decode reads parameters, which may be absent. Where they are not what they should be the fault names the field.
func decode(raw []byte, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	err := json.Unmarshal(raw, v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "params"
		}
		return invalid(field, "expected another type than %s", kind.Value)
	case err != nil:
		return faultf(a2a.ErrParseError, "invalid JSON payload")
	}
	return nil
}

// wellFormed reports whether b is one JSON value, and none that is nested without end.
func wellFormed(b []byte) error {
	if !json.Valid(b) {
		return faultf(a2a.ErrParseError, "invalid JSON payload")
	}
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return faultf(a2a.ErrInvalidRequest, "the request is nested deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// readBody reads a request's body, which the listener bounds too.
func readBody(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case len(b) > maxBody:
		return nil, faultf(a2a.ErrInvalidRequest, "the request is larger than %d bytes", maxBody)
	case err != nil && strings.Contains(err.Error(), "too large"):
		return nil, faultf(a2a.ErrInvalidRequest, "the request is too large")
	case err != nil:
		return nil, faultf(a2a.ErrInvalidRequest, "the request could not be read to its end")
	}
	return b, nil
}

// check holds a message against the specification.
func (p *sendParams) check() error {
	m := p.Message
	switch {
	case m == nil:
		return invalid("message", "a message is required")
	case !plain(m.MessageID, maxMessage):
		return invalid("message.messageId", "expected 1 to %d bytes of text", maxMessage)
	case m.Role != string(a2a.MessageRoleUser):
		return invalid("message.role", "expected ROLE_USER")
	case len(m.Parts) == 0:
		return invalid("message.parts", "at least one part is required")
	case len(m.Parts) > maxParts:
		return invalid("message.parts", "expected at most %d", maxParts)
	case m.ContextID != "" && !plain(m.ContextID, maxContext):
		return invalid("message.contextId", "expected at most %d bytes of text without control characters", maxContext)
	}
	for i, part := range m.Parts {
		if why := part.check(); why != "" {
			return invalid(fmt.Sprintf("message.parts[%d]", i), "%s", why)
		}
	}
	c := p.Configuration
	switch {
	case c == nil:
		return nil
	case len(c.Push) > 0 && string(c.Push) != "null":
		return faultf(a2a.ErrPushNotificationNotSupported, "push notifications are not supported")
	}
	return checkHistory("configuration.historyLength", c.HistoryLength)
}

func checkHistory(field string, n *int) error {
	if n != nil && *n < 0 {
		return invalid(field, "expected 0 or more")
	}
	return nil
}

func (p *part) check() string {
	if p == nil {
		return "expected an object"
	}
	if string(p.Data) == "null" && (p.Text != nil || p.Raw != nil || p.URL != nil) {
		p.Data = nil // written out by a client that leaves nothing out
	}
	n := 0
	for _, there := range []bool{p.Text != nil, p.Raw != nil, p.URL != nil, p.Data != nil} {
		if there {
			n++
		}
	}
	if n != 1 {
		return "expected exactly one of text, raw, url and data"
	}
	if p.Raw != nil {
		if _, err := base64.StdEncoding.DecodeString(*p.Raw); err != nil {
			return "raw: expected base64"
		}
	}
	if p.MediaType != "" {
		if _, _, err := mime.ParseMediaType(p.MediaType); err != nil {
			return "mediaType: expected a media type"
		}
	}
	return ""
}

// media is a part's media type without its parameters.
func (p *part) media() string {
	if kind, _, err := mime.ParseMediaType(p.MediaType); err == nil {
		return kind
	}
	switch {
	case p.Text != nil:
		return mediaText
	case p.Data != nil:
		return mediaJSON
	}
	return "application/octet-stream"
}

// told returns the message as it is kept in a task's history.
func (m *message) told(id identity) *a2a.Message {
	out := &a2a.Message{
		ID: m.MessageID, ContextID: id.context, TaskID: a2a.TaskID(id.task), Role: a2a.MessageRoleUser,
		Metadata: m.Metadata, Extensions: m.Extensions,
	}
	for _, r := range m.References {
		out.ReferenceTasks = append(out.ReferenceTasks, a2a.TaskID(r))
	}
	for _, p := range m.Parts {
		out.Parts = append(out.Parts, p.told())
	}
	return out
}

func (p *part) told() *a2a.Part {
	out := &a2a.Part{Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata}
	switch {
	case p.Text != nil:
		out.Content = a2a.Text(*p.Text)
	case p.Raw != nil:
		b, _ := base64.StdEncoding.DecodeString(*p.Raw) // checked
		out.Content = a2a.Raw(b)
	case p.URL != nil:
		out.Content = a2a.URL(*p.URL)
	default:
		out.Content = a2a.Data{Value: p.Data}
	}
	return out
}
