package js

import (
	"path"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
	"github.com/hotcell/hotcell/internal/engine"
)

// wrap compiles a file in the way of CommonJS: the body of a function. Its first line stays the first.
func (m *modules) wrap(name string, text []byte) (*sobek.Program, error) {
	program, err := sobek.Parse(name, "(function (module, exports, require) {"+string(hideShebang(text))+"\n})", parser.WithDisableSourceMaps)
	if err != nil {
		return nil, err
	}
	return sobek.CompileAST(program, false)
}

// require runs a file in the way of CommonJS, once, and returns its exports.
func (m *modules) require(src *source) (sobek.Value, error) {
	if module, ok := m.common[src.name]; ok {
		return module.Get("exports"), nil
	}
	module, exports := m.rt.NewObject(), m.rt.NewObject()
	if err := module.Set("exports", exports); err != nil {
		return nil, err
	}
	m.common[src.name] = module
	wrapper, err := m.rt.RunProgram(src.common)
	if err != nil {
		return nil, err
	}
	body, ok := sobek.AssertFunction(wrapper)
	if !ok {
		return nil, engine.Finalf(codeSyntax, "%s: not the body of a CommonJS module", src.name)
	}
	if _, err := body(sobek.Undefined(), module, exports, m.rt.ToValue(m.requirer(src.name))); err != nil {
		return nil, err
	}
	return module.Get("exports"), nil
}

// requirer is the function require of one file.
func (m *modules) requirer(from string) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		name, err := locate(from, call.Argument(0).String())
		var src *source
		if err == nil {
			src, err = m.read(name, from)
		}
		if err != nil {
			panic(m.rt.NewTypeError("%s", err.Error()))
		}
		if src.common == nil && path.Ext(name) != ".json" {
			panic(m.rt.NewTypeError("%s requires %s, which is an ES module: use import()", from, name))
		}
		if src.common == nil {
			return m.data(name)
		}
		value, err := m.require(src)
		if err != nil {
			panic(err) // an exception of the script: it goes on as one
		}
		return value
	}
}

// data is what a JSON file holds.
func (m *modules) data(name string) sobek.Value {
	text, err := m.files.Read(name, maxSource)
	if err != nil {
		panic(m.rt.NewTypeError("%s", err.Error()))
	}
	value, err := newJSON(m.rt).parse(text)
	if err != nil {
		panic(m.rt.NewTypeError("%s is no JSON", name))
	}
	return value
}
