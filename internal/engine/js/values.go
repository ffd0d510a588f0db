package js

import (
	"encoding/json"
	"reflect"

	"github.com/grafana/sobek"
)

// jsonFuncs are the runtime's own JSON functions, whatever the script makes of them later.
type jsonFuncs struct{ parser, stringifier sobek.Callable }

func newJSON(rt *sobek.Runtime) jsonFuncs {
	object := rt.Get("JSON").ToObject(rt)
	parse, _ := sobek.AssertFunction(object.Get("parse"))
	stringify, _ := sobek.AssertFunction(object.Get("stringify"))
	return jsonFuncs{parse, stringify}
}

func (j jsonFuncs) parse(raw []byte) (sobek.Value, error) {
	return j.parser(sobek.Undefined(), stringValue(raw))
}

// stringify makes JSON of a value; ok is false for one that JSON has no word for, such as a function.
func (j jsonFuncs) stringify(value sobek.Value) (raw json.RawMessage, ok bool, err error) {
	text, err := j.stringifier(sobek.Undefined(), value)
	if err != nil || sobek.IsUndefined(text) {
		return nil, false, err
	}
	return json.RawMessage(text.String()), true, nil
}

func stringValue(b []byte) sobek.Value {
	var sb sobek.StringBuilder
	sb.WriteUTF8String(string(b))
	return sb.String()
}

// bytesOf are the bytes of a string, an ArrayBuffer or an array of bytes; false for any other value.
func bytesOf(value sobek.Value) ([]byte, bool) {
	if text, ok := exported[string](value); ok {
		return []byte(text), true
	}
	if data, ok := exported[[]byte](value); ok {
		return data, true
	}
	buffer, ok := exported[sobek.ArrayBuffer](value)
	if !ok {
		return nil, false
	}
	return buffer.Bytes(), true
}

// exported is the Go value within a value that holds just that. Any other value is left alone: to export an object is to copy
// all of it, and to run its getters.
func exported[T any](value sobek.Value) (T, bool) {
	var none T
	if value == nil {
		return none, false
	}
	kind := value.ExportType()
	if kind == nil || !kind.AssignableTo(reflect.TypeFor[T]()) {
		return none, false
	}
	v, ok := value.Export().(T)
	return v, ok
}

// maxNesting is how deep a script may read JSON.
const maxNesting = 10_000
