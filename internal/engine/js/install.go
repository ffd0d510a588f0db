package js

import (
	"crypto/rand"
	_ "embed" // the prelude
	"encoding/base64"
	"net/url"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

const preludeName = "hotcell:prelude"

//go:embed prelude.js
var prelude string

// install gives the runtime what scripts expect beside the language: console, timers, fetch and the like.
func (s *script) install() error {
	s.json = newJSON(s.rt)
	natives := map[string]any{
		"tooDeep":   func(text string) bool { return wall.DeeperThan(text, maxNesting) },
		"log":       func(level, message string) { s.voice.Log(level, message) },
		"fetch":     s.fetchNative,
		"timer":     s.timer,
		"forget":    func(id int64) { s.loop.forget(id) },
		"encode":    func(text string) sobek.ArrayBuffer { return s.rt.NewArrayBuffer([]byte(text)) },
		"decode":    s.decode,
		"parseURL":  s.parseURL,
		"base64":    s.base64,
		"random":    s.random,
		"escapeURL": func(text string) string { return url.QueryEscape(text) },
	}
	program, err := sobek.Parse(preludeName, prelude, parser.WithDisableSourceMaps)
	if err != nil {
		return engine.Failf(engine.CodeInternal, "the prelude: %v", err)
	}
	compiled, err := sobek.CompileAST(program, true)
	if err != nil {
		return engine.Failf(engine.CodeInternal, "the prelude: %v", err)
	}
	value, err := s.rt.RunProgram(compiled)
	if err != nil {
		return engine.Failf(engine.CodeInternal, "the prelude: %v", err)
	}
	start, _ := sobek.AssertFunction(value)
	if _, err = start(sobek.Undefined(), s.rt.GlobalObject(), s.rt.ToValue(natives), s.environment()); err != nil {
		return engine.Failf(engine.CodeInternal, "the prelude: %v", err)
	}
	return nil
}

func (s *script) timer(call sobek.FunctionCall) sobek.Value {
	callback, ok := sobek.AssertFunction(call.Argument(0))
	if !ok {
		panic(s.rt.NewTypeError("a timer: expected a function"))
	}
	var args []sobek.Value
	if len(call.Arguments) > 3 {
		args = call.Arguments[3:]
	}
	return s.rt.ToValue(s.loop.later(callback, args, milliseconds(call.Argument(1)), call.Argument(2).ToBoolean()))
}

// decode makes text of bytes; fatal refuses what is no UTF-8.
func (s *script) decode(call sobek.FunctionCall) sobek.Value {
	data, ok := bytesOf(call.Argument(0))
	switch {
	case !ok:
		panic(s.rt.NewTypeError("TextDecoder: expected bytes"))
	case call.Argument(1).ToBoolean() && !utf8.Valid(data):
		panic(s.rt.NewTypeError("TextDecoder: the bytes are no UTF-8"))
	}
	return stringValue(data)
}

func (s *script) parseURL(call sobek.FunctionCall) sobek.Value {
	u, err := url.Parse(call.Argument(0).String())
	if base := call.Argument(1); err == nil && !sobek.IsUndefined(base) {
		var b *url.URL
		if b, err = url.Parse(base.String()); err == nil {
			u = b.ResolveReference(u)
		}
	}
	if err != nil || u.Scheme == "" {
		panic(s.rt.NewTypeError("URL: %q is no absolute URL", engine.OneLine(call.Argument(0).String(), 200)))
	}
	password, _ := u.User.Password()
	return s.rt.ToValue(map[string]any{
		"protocol": u.Scheme + ":", "username": u.User.Username(), "password": password, "hostname": u.Hostname(), "port": u.Port(),
		"host": u.Host, "pathname": pathOf(u), "search": query(u), "hash": fragment(u), "opaque": u.Opaque,
	})
}

func pathOf(u *url.URL) string {
	if p := u.EscapedPath(); p != "" || u.Host == "" {
		return p
	}
	return "/"
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

func fragment(u *url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.EscapedFragment()
}

// base64 is btoa and atob, over strings whose characters are bytes.
func (s *script) base64(call sobek.FunctionCall) sobek.Value {
	text := []rune(call.Argument(0).String())
	if call.Argument(1).ToBoolean() {
		data, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			if data, err = base64.RawStdEncoding.DecodeString(string(text)); err != nil {
				panic(s.rt.NewTypeError("atob: the text is no base64"))
			}
		}
		out := make([]rune, len(data))
		for i, b := range data {
			out[i] = rune(b)
		}
		return s.rt.ToValue(string(out))
	}
	data := make([]byte, len(text))
	for i, c := range text {
		if c > 0xff {
			panic(s.rt.NewTypeError("btoa: the text has characters above U+00FF; encode it with TextEncoder first"))
		}
		data[i] = byte(c)
	}
	return s.rt.ToValue(base64.StdEncoding.EncodeToString(data))
}

func (s *script) random(n int) sobek.ArrayBuffer {
	data := make([]byte, min(max(n, 0), 64<<10))
	_, _ = rand.Read(data) // never fails
	return s.rt.NewArrayBuffer(data)
}
