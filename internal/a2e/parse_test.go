package a2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func call(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"type":"skill/call/req","id":"c1","name":"x"` + fields + `}`
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	for name, tt := range map[string]struct {
		line string
		code Code
		says string // part of the message
		id   string
		typ  string
	}{
		"text":                  {`hello`, ParseError, "not JSON", "", ""},
		"half an object":        {`{"type":"ping"`, ParseError, "not JSON", "", ""},
		"two objects":           {`{"type":"ping"} {}`, ParseError, "not JSON", "", ""},
		"bad UTF-8":             {"{\"type\":\"ping\",\"id\":\"\xff\"}", ParseError, "UTF-8", "", ""},
		"NaN":                   {call(`"arguments":{"x":NaN}`), ParseError, "not JSON", "", ""},
		"list":                  {`[1]`, ParseError, "expected a JSON object, got a list", "", ""},
		"null":                  {`null`, ParseError, "got null", "", ""},
		"number":                {`-1`, ParseError, "got a number", "", ""},
		"no type":               {`{"id":"a"}`, ParseError, "no type", "a", ""},
		"type is null":          {`{"id":"a","type":null}`, ParseError, "no type", "a", ""},
		"type is a number":      {`{"id":"a","type":5}`, ParseError, "no type", "a", ""},
		"type in capitals":      {`{"id":"a","TYPE":"ping"}`, ParseError, "no type", "a", ""},
		"unknown type":          {`{"id":"a","type":"skill/frob"}`, InvalidMessage, `"skill/frob"`, "a", "skill/frob"},
		"long unknown type":     {`{"id":"a","type":"` + strings.Repeat("x", 500) + `"}`, InvalidMessage, `xxx..."`, "a", ""},
		"id is a number":        {`{"id":7,"type":"ping"}`, InvalidMessage, "id: expected a string, got a number", "", "ping"},
		"id too long":           {`{"id":"` + strings.Repeat("x", MaxID+1) + `","type":"ping"}`, InvalidMessage, "id: expected at most 256 bytes", "", "ping"},
		"id with line feed":     {`{"id":"a\nb","type":"ping"}`, InvalidMessage, "control characters", "", "ping"},
		"ts is a string":        {`{"id":"a","type":"ping","ts":"now"}`, InvalidMessage, "ts: expected a number of seconds", "a", "ping"},
		"version 2.0":           {`{"id":"a","type":"ping","version":"2.0"}`, VersionMismatch, `expected "1.0"`, "a", "ping"},
		"version 10.0":          {`{"id":"a","type":"ping","version":"10.0"}`, VersionMismatch, "version:", "a", "ping"},
		"version 1.x":           {`{"id":"a","type":"ping","version":"1.x"}`, VersionMismatch, "version:", "a", "ping"},
		"version is a number":   {`{"id":"a","type":"ping","version":1.0}`, VersionMismatch, "1.0 is not", "a", "ping"},
		"a2e 2.0":               {`{"id":"a","type":"ping","a2e":"2.0"}`, VersionMismatch, "a2e:", "a", "ping"},
		"call of version 2.0":   {call(`"version":"2.0"`), VersionMismatch, "", "c1", TypeCallRequest},
		"duplicate field":       {call(`"arguments":{},"arguments":{"x":1}`), InvalidMessage, `key "arguments" stands twice`, "c1", TypeCallRequest},
		"duplicate escaped":     {call(`"metadata":{},"metad\u0061ta":{}`), InvalidMessage, `key "metadata" stands twice`, "c1", TypeCallRequest},
		"duplicate deep":        {call(`"arguments":{"l":[{"a":1},{"a":1,"b":"{","a":2}]}`), InvalidMessage, `key "a" stands twice`, "c1", TypeCallRequest},
		"duplicate id":          {call(`"id":"c2"`), InvalidMessage, `key "id" stands twice`, "", TypeCallRequest},
		"duplicate type":        {call(`"type":"ping"`), InvalidMessage, `key "type" stands twice`, "c1", ""},
		"too deep":              {call(`"arguments":{"x":` + deep + `}`), InvalidMessage, "nested deeper than 64", "c1", TypeCallRequest},
		"too many values":       {call(`"arguments":{"x":[0` + strings.Repeat(",0", MaxValues) + `]}`), InvalidMessage, "values", "c1", TypeCallRequest},
		"no name":               {`{"type":"skill/call/req","id":"c1"}`, SchemaViolation, "name: expected the name of a skill, got none", "c1", TypeCallRequest},
		"name is a list":        {`{"type":"skill/call/req","id":"c1","name":[]}`, SchemaViolation, "name: expected a string, got a list", "c1", TypeCallRequest},
		"arguments is a list":   {call(`"arguments":[1]`), SchemaViolation, "arguments: expected an object, got a list", "c1", TypeCallRequest},
		"arguments is null":     {call(`"arguments":null`), SchemaViolation, "arguments: expected an object, got null", "c1", TypeCallRequest},
		"timeout 1.5":           {call(`"timeout":1.5`), SchemaViolation, "timeout: expected a whole number of seconds above 0, got 1.5", "c1", TypeCallRequest},
		"timeout null":          {call(`"timeout":null`), SchemaViolation, "got null", "c1", TypeCallRequest},
		"timeout 0":             {call(`"timeout":0`), SchemaViolation, "got 0", "c1", TypeCallRequest},
		"timeout -1":            {call(`"timeout":"-1"`), SchemaViolation, `got "-1"`, "c1", TypeCallRequest},
		"timeout 1e-400":        {call(`"timeout":1e-400`), SchemaViolation, "got 1e-400", "c1", TypeCallRequest},
		"timeout word":          {call(`"timeout":"soon"`), SchemaViolation, "got a string", "c1", TypeCallRequest},
		"timeout Inf":           {call(`"timeout":"Inf"`), SchemaViolation, "got a string", "c1", TypeCallRequest},
		"timeout true":          {call(`"timeout":true`), SchemaViolation, "got true", "c1", TypeCallRequest},
		"streaming is a word":   {call(`"streaming":"yes"`), SchemaViolation, "streaming: expected true or false", "c1", TypeCallRequest},
		"metadata is a list":    {call(`"metadata":[]`), SchemaViolation, "metadata: expected an object", "c1", TypeCallRequest},
		"correlation NUL":       {call(`"correlation_id":"a\u0000"`), SchemaViolation, "correlation_id: expected text without control", "c1", TypeCallRequest},
		"override is a word":    {call(`"llm_override":"gpt"`), SchemaViolation, "llm_override: expected an object", "c1", TypeCallRequest},
		"credentials is a word": {call(`"llm_override":{"provider_credentials":"sk-1"}`), SchemaViolation, "llm_override.provider_credentials: expected an object, got a string", "c1", TypeCallRequest},
		"config is true":        {call(`"llm_override":{"provider_config":true}`), SchemaViolation, "llm_override.provider_config: expected an object, got true", "c1", TypeCallRequest},
		"tags hold a number":    {`{"type":"skill/discover/req","id":"d1","filter_tags":["a",1]}`, SchemaViolation, "filter_tags: expected a list of strings", "d1", TypeDiscoverRequest},
		"event seq is a word":   {`{"type":"skill/event","id":"e1","seq":"x"}`, SchemaViolation, "seq: expected", "e1", TypeEvent},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Parse([]byte(tt.line))
			var de *DecodeError
			if !errors.As(err, &de) {
				t.Fatalf("Parse = %v, %v, want a DecodeError", m, err)
			}
			if de.Err.Code != tt.code || !strings.Contains(de.Err.Message, tt.says) || de.ReqID != tt.id || de.Type != tt.typ {
				t.Errorf("got %v (id %q, type %q), want %s with %q (id %q, type %q)", err, de.ReqID, de.Type, tt.code, tt.says, tt.id, tt.typ)
			}
			if len(de.Err.Message) > 300 || strings.Contains(de.Err.Message, "sk-1") || de.Err.Retryable {
				t.Errorf("message is unbounded, tells a secret or is retryable: %q", de.Err.Message)
			}
			var e *Error
			if !errors.As(err, &e) || e != de.Err {
				t.Error("the DecodeError does not unwrap to its Error")
			}
		})
	}
}

func TestVersionMismatchNamesWhatIsSupported(t *testing.T) {
	_, err := Parse([]byte(`{"type":"ping","version":"3.1"}`))
	if got := AsError(err).Detail["supported"]; !cmp.Equal(got, []string{"1.0"}) {
		t.Errorf("detail.supported = %v", got)
	}
}

func TestParseCallAccepts(t *testing.T) {
	for name, tt := range map[string]struct {
		fields string
		want   CallRequest
	}{
		"nothing":              {``, CallRequest{}},
		"a2e":                  {`"a2e":"1.3"`, CallRequest{Header: Header{Version: "1.3"}}},
		"version before a2e":   {`"a2e":"9","version":"1"`, CallRequest{Header: Header{Version: "1"}}},
		"timeout 60":           {`"timeout":60`, CallRequest{Timeout: ptr(60)}},
		"timeout string":       {`"timeout":"60"`, CallRequest{Timeout: ptr(60)}},
		"timeout 60.0":         {`"timeout":60.0`, CallRequest{Timeout: ptr(60)}},
		"timeout 6e1":          {`"timeout":6e1`, CallRequest{Timeout: ptr(60)}},
		"timeout huge":         {`"timeout":1e400`, CallRequest{Timeout: ptr(1<<31 - 1)}},
		"streaming false":      {`"streaming":false`, CallRequest{Streaming: ptr(false)}},
		"nulls":                {`"streaming":null,"metadata":null,"llm_override":null,"correlation_id":null,"ts":null`, CallRequest{}},
		"unknown fields":       {`"Arguments":{"a":1},"skills":"1.0"`, CallRequest{}},
		"big integer":          {`"arguments":{"n":12345678901234567890123}`, CallRequest{Arguments: map[string]any{"n": json.Number("12345678901234567890123")}}},
		"metadata number":      {`"metadata":{"n":1.10}`, CallRequest{Metadata: map[string]any{"n": json.Number("1.10")}}},
		"config false":         {`"llm_override":{"provider_name":"p","provider_config":false}`, CallRequest{LLMOverride: &LLMConfig{ProviderName: "p"}}},
		"credentials are kept": {`"llm_override":{"provider_credentials":{"api_key":"k"},"is_default":true}`, CallRequest{LLMOverride: &LLMConfig{ProviderCredentials: map[string]any{"api_key": "k"}, IsDefault: true}}},
		"deep enough":          {`"arguments":{"x":` + strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2) + `}`, CallRequest{Arguments: map[string]any{"x": nested(MaxDepth - 2)}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Parse([]byte(call(tt.fields)))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			want.Type, want.ID, want.Name = TypeCallRequest, "c1", "x"
			if want.Version == "" {
				want.Version = "1.0"
			}
			want.Arguments, want.Metadata = dict(want.Arguments), dict(want.Metadata)
			// cmp takes twice the time for each level of nesting, so it only explains.
			if !reflect.DeepEqual(Message(&want), m) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(Message(&want), m))
			}
		})
	}
}

func nested(levels int) any {
	v := []any{}
	for range levels - 1 {
		v = []any{v}
	}
	return v
}

func TestParseBaseMessages(t *testing.T) {
	h := func(typ string) Header { return Header{Type: typ, ID: "a", Version: "1.0"} }
	for line, want := range map[string]Message{
		`{"type":"ping","id":"a"}`:                                               &Ping{h(TypePing)},
		`{"type":"shutdown","id":"a"}`:                                           &Shutdown{h(TypeShutdown), 10},
		`{"type":"shutdown","id":"a","timeout":0.5}`:                             &Shutdown{h(TypeShutdown), 0.5},
		`{"type":"shutdown","id":"a","timeout":-1}`:                              &Shutdown{h(TypeShutdown), 10},
		`{"type":"handshake/req","id":"a","agent_id":"me","agent_caps":["env"]}`: &HandshakeRequest{h(TypeHandshakeRequest), "me", []string{"env"}, ""},
		`{"type":"skill/discover/req","id":"a","filter_tags":null}`:              &DiscoverRequest{Header: h(TypeDiscoverRequest)},
		`{"type":"pong","id":"a","req_id":"p","uptime_seconds":2}`:               &Pong{h(TypePong), "p", 2},
	} {
		got, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	m, err := Parse([]byte(`{"type":"ping"}`))
	if err != nil || len(m.header().ID) != 32 {
		t.Errorf("a missing id is not made up: %+v, %v", m, err)
	}
}

func TestDefinitionAcceptsOtherHosts(t *testing.T) {
	for arguments, want := range map[string][]string{
		`{}`: nil, `null`: nil, `[]`: {}, `["a","b"]`: {"a", "b"}, `{"b":1,"a":{}}`: {"a", "b"},
	} {
		var d Definition
		if err := json.Unmarshal([]byte(`{"name":"x","arguments":`+arguments+`,"input_schema":null}`), &d); err != nil {
			t.Errorf("%s: %v", arguments, err)
			continue
		}
		slices.Sort(d.Arguments)
		if diff := cmp.Diff(want, d.Arguments); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
	var d Definition
	if err := json.Unmarshal([]byte(`{"arguments":5}`), &d); err == nil {
		t.Error("arguments 5 is accepted")
	}
}

func TestDecoderGoesOnAfterEveryBadLine(t *testing.T) {
	const limit = 100
	ping := `{"type":"ping","id":"%d"}`
	long := strings.Repeat("x", 300<<10)
	in := strings.Join([]string{
		"", fmt.Sprintf(ping, 1), "junk\r", "  ", long, fmt.Sprintf(ping, 2) + "\r",
		fmt.Sprintf(ping, 3) + strings.Repeat(" ", limit-len(ping)+1), // as long as may be
		fmt.Sprintf(ping, 4) + strings.Repeat(" ", limit),             // longer
		"\xff", fmt.Sprintf(ping, 5), // no line feed at the end
	}, "\n")
	d := NewDecoder(strings.NewReader(in), limit)
	var got []string
	for {
		m, err := d.Decode()
		if errors.Is(err, io.EOF) {
			break
		}
		var de *DecodeError
		switch {
		case errors.As(err, &de) && de.Err.Code == ParseError:
			got = append(got, strings.Fields(de.Err.Message + " ")[2])
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, m.header().ID)
		}
	}
	want := []string{"1", "not", "longer", "2", "3", "longer", "not", "5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := d.Decode(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func TestDecoderKeepsNothingOfAnEndlessLine(t *testing.T) {
	d := NewDecoder(io.LimitReader(forever('x'), 64<<20), 1<<10)
	if _, err := d.Decode(); AsError(err).Detail["limit"] != 1<<10 {
		t.Errorf("error = %v", err)
	}
	if len(d.line.pieces) > 0 || len(d.line.head) > headSize {
		t.Errorf("%d pieces were kept", len(d.line.pieces))
	}
}

func TestDecoderPassesReadErrorsOn(t *testing.T) {
	r, w := io.Pipe()
	boom := errors.New("boom")
	_ = w.CloseWithError(boom)
	if _, err := NewDecoder(r, 0).Decode(); !errors.Is(err, boom) {
		t.Errorf("error = %v", err)
	}
}

type forever byte

func (f forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}
