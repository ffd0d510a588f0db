package js

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

// maxRead is the most that a script reads of one file, in bytes.
const maxRead = 64 << 20

// skill makes the object that the script's function gets beside the arguments.
func (s *script) skill(req *engine.Request) (*sobek.Object, error) {
	request, err := s.json.parse(req.Raw)
	if err != nil {
		return nil, engine.Finalf(engine.CodeBadRequest, "the request: %v", err)
	}
	build, ok := sobek.AssertFunction(s.rt.Get("__skill"))
	if !ok {
		return nil, engine.Failf(engine.CodeInternal, "the prelude is incomplete")
	}
	if err := s.rt.GlobalObject().Delete("__skill"); err != nil {
		return nil, err
	}
	value, err := build(sobek.Undefined(), request, s.environment(), s.rt.ToValue(s.natives()))
	if err != nil {
		return nil, err
	}
	return value.ToObject(s.rt), nil
}

func (s *script) environment() *sobek.Object {
	env := s.rt.NewObject()
	for _, kv := range s.cfg.Env {
		name, value, _ := strings.Cut(kv, "=")
		_ = env.Set(name, value) // a new object takes anything
	}
	return env
}

// natives are what the prelude builds the skill object from.
func (s *script) natives() map[string]any {
	return map[string]any{
		"progress": func(pct float64, message string) { s.voice.Progress(pct, message) },
		"log":      func(level, message string) { s.voice.Log(level, message) },
		"status":   s.status,
		"artifact": s.artifact,
		"summary":  func(text string) { s.summary = engine.OneLine(text, 1024) },
		"tool":     s.tool,
		"readFile": s.readFile,
		"files":    s.listFiles,
		"secret":   s.secret,
		"model":    s.model,
	}
}

func (s *script) status(call sobek.FunctionCall) sobek.Value {
	data := map[string]any{}
	if value := call.Argument(1); !sobek.IsUndefined(value) && !sobek.IsNull(value) {
		raw, ok, err := s.json.stringify(value)
		if err != nil {
			panic(err)
		}
		members := map[string]json.RawMessage{}
		if !ok || json.Unmarshal(raw, &members) != nil {
			panic(s.rt.NewTypeError("skill.status: expected an object as the second argument"))
		}
		for key, member := range members {
			data[key] = member
		}
	}
	s.voice.Status(call.Argument(0).String(), data)
	return sobek.Undefined()
}

func (s *script) artifact(call sobek.FunctionCall) sobek.Value {
	name, mime := call.Argument(0).String(), "application/octet-stream"
	data, ok := bytesOf(call.Argument(1))
	if _, text := exported[string](call.Argument(1)); text {
		mime = "text/plain; charset=utf-8"
	}
	if !ok {
		raw, isJSON, err := s.json.stringify(call.Argument(1))
		if err != nil {
			panic(err)
		}
		if !isJSON {
			panic(s.rt.NewTypeError("skill.artifact: expected text, bytes, or what JSON has a word for"))
		}
		data, mime = raw, "application/json"
	}
	if given := call.Argument(2); !sobek.IsUndefined(given) {
		mime = given.String()
	}
	s.voice.Artifact(name, mime, data)
	return sobek.Undefined()
}

// promise runs work beside the script. What it fails with becomes {message, code, name}, of which the prelude makes an error.
func (s *script) promise(work func(ctx context.Context) (func() (sobek.Value, error), error)) sobek.Value {
	p, resolve, reject := s.rt.NewPromise()
	s.loop.beside(func(ctx context.Context) func() {
		value, err := work(ctx)
		return func() {
			var v sobek.Value
			if err == nil {
				v, err = value()
			}
			if err != nil {
				s.loop.failed = reject(s.plain(err))
				return
			}
			s.loop.failed = resolve(v)
		}
	})
	return s.rt.ToValue(p)
}

func (s *script) plain(err error) sobek.Value {
	o := s.rt.NewObject()
	message, code := err.Error(), ""
	var te *engine.ToolError
	if errors.As(err, &te) {
		message, code = te.Message, te.Code
	}
	for key, value := range map[string]string{"message": message, "code": code} {
		_ = o.Set(key, value) // a new object takes anything
	}
	return o
}

func (s *script) tool(call sobek.FunctionCall) sobek.Value {
	name := call.Argument(0).String()
	arguments := json.RawMessage("{}")
	if value := call.Argument(1); !sobek.IsUndefined(value) && !sobek.IsNull(value) {
		raw, ok, err := s.json.stringify(value)
		if err != nil {
			panic(err)
		}
		if !ok || raw[0] != '{' {
			panic(s.rt.NewTypeError("skill.tool: expected an object as the second argument"))
		}
		arguments = raw
	}
	return s.promise(func(ctx context.Context) (func() (sobek.Value, error), error) {
		data, err := s.tools.Call(ctx, name, arguments)
		return func() (sobek.Value, error) { return s.json.parse(data) }, err
	})
}

// readFile reads a file of the bundle, or one that came with the call: as text, or as bytes.
func (s *script) readFile(call sobek.FunctionCall) sobek.Value {
	name, asBytes := call.Argument(0).String(), call.Argument(1).ToBoolean()
	files := s.bundle
	if strings.HasPrefix(path.Clean(name), wall.DirInput+"/") {
		files = s.input
	}
	return s.promise(func(context.Context) (func() (sobek.Value, error), error) {
		data, err := files.Read(name, maxRead)
		return func() (sobek.Value, error) {
			if asBytes {
				return s.rt.ToValue(s.rt.NewArrayBuffer(data)), nil
			}
			return stringValue(data), nil
		}, err
	})
}

// listFiles names the files that came with the call, or those of the bundle.
func (s *script) listFiles(call sobek.FunctionCall) sobek.Value {
	files, dir := s.input, wall.DirInput
	if call.Argument(0).ToBoolean() {
		files, dir = s.bundle, wall.DirSkill
	}
	const most = 10_000
	all, _ := files.List(most)
	names := make([]any, 0, len(all))
	for _, f := range all {
		names = append(names, path.Join(dir, f.Name))
	}
	return s.rt.NewArray(names...)
}

// secret reads a secret of the call, undefined where there is none of that name.
func (s *script) secret(call sobek.FunctionCall) sobek.Value {
	name := call.Argument(0).String()
	if name == "" || strings.Contains(name, "/") || name == "." || name == ".." {
		return sobek.Undefined()
	}
	data, err := os.ReadFile(path.Join(s.cfg.Path(wall.DirSecrets), name))
	if err != nil {
		return sobek.Undefined()
	}
	return stringValue(data)
}

// model says which model was granted, undefined where there is none.
func (s *script) model(sobek.FunctionCall) sobek.Value {
	lease, err := engine.ReadLease(s.cfg.Path(wall.LeasePath))
	if err != nil {
		panic(s.rt.NewGoError(err))
	}
	if lease.Model == nil {
		return sobek.Undefined()
	}
	text, err := json.Marshal(lease.Model)
	if err != nil {
		panic(s.rt.NewGoError(err))
	}
	value, err := s.json.parse(text)
	if err != nil {
		panic(err)
	}
	return value
}

// milliseconds is a delay as scripts give it.
func milliseconds(value sobek.Value) time.Duration {
	ms := value.ToFloat()
	if !(ms > 0) { // no number at all, too
		return 0
	}
	return time.Duration(min(ms, float64(maxDelay/time.Millisecond)) * float64(time.Millisecond))
}
