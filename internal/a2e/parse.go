package a2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"
)

// The longest texts that are echoed in answers and events, in bytes.
const (
	MaxID   = 256  // id, correlation_id, agent_id
	MaxName = 1024 // the name of a skill
)

// Parse decodes one message. The error is a *[DecodeError]. Unknown fields are ignored; field names are matched exactly;
// numbers within arguments and metadata become [json.Number], so that they survive as they were written.
func Parse(line []byte) (Message, error) {
	if err := syntax(line); err != nil {
		return nil, refuse(err)
	}
	o := &object{line: line}
	var s scan
	err := s.check(line)
	if err != nil {
		o.raw = headOf(line)
	} else if json.Unmarshal(line, &o.raw) != nil {
		err = Errorf(ParseError, "line is not JSON")
	}
	var m Message
	if err == nil {
		m, err = o.message()
	}
	if err != nil {
		return nil, o.refusal(err)
	}
	return m, nil
}

// refusal is err with what an answer to the message needs.
func (o *object) refusal(err *Error) *DecodeError {
	return &DecodeError{Err: err, ReqID: o.peek("id", MaxID), Type: o.peek("type", MaxID), Name: o.peek("name", MaxName)}
}

// syntax checks that line is a JSON object. What fails here is a parse_error.
func syntax(line []byte) *Error {
	if !utf8.Valid(line) {
		return Errorf(ParseError, "line is not valid UTF-8")
	}
	if !json.Valid(line) {
		var v json.RawMessage
		err := json.Unmarshal(line, &v)
		return Errorf(ParseError, "line is not JSON: %v", err)
	}
	if k := JSONKind(line); k != "an object" {
		return Errorf(ParseError, "expected a JSON object, got %s", k)
	}
	return nil
}

// headOf reads what an answer to a refused message needs, without keeping the message's other fields. The line may be cut
// off: the fields that are whole count. A field that stands twice is left out, since it is not known which one was meant.
func headOf(line []byte) map[string]json.RawMessage {
	head, seen := map[string]json.RawMessage{}, map[string]int{}
	dec := json.NewDecoder(bytes.NewReader(line))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		name, _ := key.(string)
		wanted := name == "id" || name == "type" || name == "name"
		if wanted {
			seen[name]++
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		if wanted {
			head[name] = raw
		}
	}
	maps.DeleteFunc(head, func(key string, raw json.RawMessage) bool { return seen[key] > 1 || !utf8.Valid(raw) })
	return head
}

// message decodes the fields into the message that the type names.
func (o *object) message() (Message, *Error) {
	var typ string
	if raw, ok := o.raw["type"]; !ok || json.Unmarshal(raw, &typ) != nil || typ == "" {
		return nil, Errorf(ParseError, "message has no type: expected a string such as %q", TypeCallRequest).With("field", "type")
	}
	h := o.head(typ)
	m := o.body(typ, h)
	if o.err != nil {
		return nil, o.err
	}
	return m, nil
}

// head reads the fields that every message has. Faults here are the message's own: invalid_message.
func (o *object) head(typ string) Header {
	o.code = InvalidMessage
	h := Header{Type: typ, ID: o.name("id", MaxID), Version: o.version(), TS: o.seconds("ts", 0)}
	if h.ID == "" {
		h.ID = NewID()
	}
	o.code = SchemaViolation
	return h
}

// version accepts version and a2e, the older name; an absent one is 1.0 and an equal major is good.
func (o *object) version() string {
	field, raw := "version", o.raw["version"]
	if raw == nil {
		field, raw = "a2e", o.raw["a2e"]
	}
	if raw == nil {
		return Version
	}
	var v string
	_ = json.Unmarshal(raw, &v) // what is no string stays "", which is no version
	if major, minor, dotted := strings.Cut(v, "."); major == "1" && (!dotted || digits(minor)) {
		return v
	}
	o.refuse(Errorf(VersionMismatch, "%s: %s is not supported: expected %q", field, clip(string(raw)), Version).
		With("supported", []string{Version}).With("field", field))
	return ""
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// body decodes what follows the header.
func (o *object) body(typ string, h Header) Message {
	switch typ {
	case TypeDiscoverRequest:
		return &DiscoverRequest{Header: h, FilterTags: o.texts("filter_tags"), FilterCategories: o.texts("filter_categories")}
	case TypeCallRequest:
		return o.call(h)
	case TypeHandshakeRequest:
		return &HandshakeRequest{
			Header: h, AgentID: o.name("agent_id", MaxID), AgentCaps: o.texts("agent_caps"), AuthToken: o.text("auth_token"),
		}
	case TypePing:
		return &Ping{Header: h}
	case TypeShutdown:
		return &Shutdown{Header: h, Timeout: o.seconds("timeout", 10)}
	case TypeDiscoverResponse:
		return answer(o, h, &DiscoverResponse{})
	case TypeCallResponse:
		return answer(o, h, &CallResponse{})
	case TypeEvent:
		return answer(o, h, &Event{})
	case TypeHandshakeResponse:
		return answer(o, h, &HandshakeResponse{})
	case TypePong:
		return answer(o, h, &Pong{})
	case TypeError:
		return answer(o, h, &ErrorMessage{})
	}
	o.refuse(Errorf(InvalidMessage, "unknown message type %s", quote(typ)).With("field", "type"))
	return nil
}

// call reads a call. A timeout that is there must be good, null included: nothing else may pass for "absent".
func (o *object) call(h Header) *CallRequest {
	r := &CallRequest{Header: h, Name: o.name("name", MaxName)}
	if r.Name == "" {
		o.violation("name", "the name of a skill", "none")
	}
	r.Arguments = dict(o.dict("arguments"))
	if string(o.raw["arguments"]) == "null" {
		o.violation("arguments", "an object", "null")
	}
	r.CorrelationID = o.name("correlation_id", MaxID)
	r.Timeout = o.timeout("timeout")
	r.Streaming = o.flag("streaming")
	r.LLMOverride = o.llm("llm_override")
	r.Metadata = dict(o.dict("metadata"))
	return r
}

// answer decodes the messages that a host sends. They come from our own side or from a host that the caller chose, so
// the standard decoder's tolerance is good enough for them.
func answer[M Message](o *object, h Header, m M) Message {
	dec := json.NewDecoder(bytes.NewReader(o.line))
	dec.UseNumber()
	err := dec.Decode(m)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		o.violation(wrong.Field, "a value of type "+wrong.Type.String(), wrong.Value)
	case err != nil:
		o.refuse(Errorf(SchemaViolation, "%s: %s", h.Type, clip(err.Error())))
	}
	*m.header() = h
	return m
}
