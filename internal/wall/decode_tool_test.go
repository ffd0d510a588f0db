package wall

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecodeTool(t *testing.T) {
	line := []byte(`{"type":"cell/tool","id":"7","name":"time","arguments":{"zone":"UTC"}}`)
	got, err := DecodeTool(line)
	if err != nil || got.ID != "7" || got.Name != "time" || string(got.Arguments) != `{"zone":"UTC"}` {
		t.Fatalf("%+v, %v", got, err)
	}
	clear(line)
	if string(got.Arguments) != `{"zone":"UTC"}` {
		t.Error("the arguments alias the line")
	}
	if got, err = DecodeTool([]byte(`{"type":"cell/tool","id":"7","name":"time"}`)); err != nil || string(got.Arguments) != "{}" {
		t.Errorf("without arguments: %+v, %v", got, err)
	}
	for line, why := range map[string]string{
		`{"type":"cell/open","id":"7","name":"time"}`:                                           "type",
		`{"type":"cell/tool","name":"time"}`:                                                    "id: missing",
		`{"type":"cell/tool","id":"","name":"time"}`:                                            "id: expected 1",
		`{"type":"cell/tool","id":7,"name":"time"}`:                                             "id: expected a string",
		`{"type":"cell/tool","id":"` + strings.Repeat("x", 65) + `","name":"time"}`:             "id: expected 1 to 64",
		`{"type":"cell/tool","id":"7"}`:                                                         "name: missing",
		`{"type":"cell/tool","id":"7","name":"` + strings.Repeat("x", 257) + `"}`:               "name: expected 1",
		`{"type":"cell/tool","id":"7","name":"time","arguments":[]}`:                            "arguments: expected an object",
		`{"type":"cell/tool","id":"7","id":"8","name":"time"}`:                                  "twice",
		`{"type":"cell/tool","id":"7","name":"t","arguments":` + strings.Repeat("[", 300) + `}`: "JSON",
	} {
		if _, err := DecodeTool([]byte(line)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.60s: %v, want %q", line, err, why)
		}
	}
}

func FuzzDecodeTool(f *testing.F) {
	f.Add([]byte(`{"type":"cell/tool","id":"7","name":"time","arguments":{"zone":"UTC"}}`))
	f.Add([]byte(`{"type":"cell/tool","id":"","name":"","arguments":[]}`))
	f.Add([]byte(`{"type":"cell/tool","id":"\ud800","name":"\u0000","arguments":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := DecodeTool(line)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
				t.Errorf("error of %d bytes: %q", len(err.Error()), err)
			}
			return
		}
		if got.ID == "" || len(got.ID) > maxToolID || got.Name == "" || len(got.Name) > maxTool || !json.Valid(got.Arguments) || got.Arguments[0] != '{' || TooDeep(got.Arguments) {
			t.Errorf("%q is read as %+v", line, got)
		}
	})
}
