package js

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"
	"github.com/hotcell/hotcell/internal/engine"
	"github.com/hotcell/hotcell/internal/wall"
)

const (
	maxSource  = 8 << 20 // bytes of one file
	maxModules = 1000
)

// modules are the files of the bundle that scripts import, by their names in it.
type modules struct {
	rt     *sobek.Runtime
	files  *engine.Files
	known  map[string]*source
	names  map[sobek.ModuleRecord]string
	common map[string]*sobek.Object // CommonJS: the module objects
}

// source is one file: a module, or a program in the way of CommonJS.
type source struct {
	name   string
	record *sobek.SourceTextModuleRecord // nil for CommonJS
	common *sobek.Program
}

func newModules(rt *sobek.Runtime, files *engine.Files) *modules {
	m := &modules{rt: rt, files: files, known: map[string]*source{}, names: map[sobek.ModuleRecord]string{}, common: map[string]*sobek.Object{}}
	rt.SetImportModuleDynamically(m.dynamic)
	return m
}

// load reads, parses and links a file and all that it imports.
func (m *modules) load(name string) (*source, error) {
	src, err := m.read(name, "")
	if err != nil {
		return nil, err
	}
	if src.record != nil {
		if err := src.record.Link(); err != nil {
			return nil, linkError(err, name)
		}
	}
	return src, nil
}

// read parses a file once. from imports it, "" for the script itself.
func (m *modules) read(name, from string) (*source, error) {
	if src, ok := m.known[name]; ok {
		return src, nil
	}
	if len(m.known) == maxModules {
		return nil, engine.Finalf(codeImport, "%s: more than %d files are imported", from, maxModules)
	}
	text, err := m.files.Read(name, maxSource)
	if err != nil {
		if from != "" {
			return nil, engine.Finalf(codeImport, "%s imports what is not there: %v", from, err)
		}
		return nil, engine.Finalf(codeImport, "%v", err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	src := &source{name: name}
	if path.Ext(name) == ".json" {
		if text, err = jsonModule(name, text); err != nil {
			return nil, err
		}
	}
	program, err := parser.ParseFile(nil, name, hideShebang(text), 0, parser.WithDisableSourceMaps, parser.IsModule)
	if err != nil || isCommon(program, text) {
		if common, bad := m.wrap(name, text); bad == nil && isCommon(program, text) {
			src.common = common
			m.known[name] = src
			return src, nil
		}
	}
	if err != nil {
		return nil, syntaxError(err)
	}
	if src.record, err = sobek.ModuleFromAST(program, m.resolve); err != nil {
		return nil, syntaxError(err)
	}
	m.known[name] = src
	m.names[src.record] = name
	return src, nil
}

// isCommon reports whether a file is written in the way of CommonJS. program is nil where it is no module at all.
func isCommon(program *ast.Program, text []byte) bool {
	if program != nil && (len(program.ImportEntries) > 0 || len(program.ExportEntries) > 0) {
		return false
	}
	return bytes.Contains(text, []byte("module.exports")) || bytes.Contains(text, []byte("exports."))
}

// hideShebang makes a comment of a first line that names an interpreter, and keeps its place.
func hideShebang(text []byte) []byte {
	if bytes.HasPrefix(text, []byte("#!")) {
		return append([]byte("//"), text[2:]...)
	}
	return text
}

func jsonModule(name string, text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, engine.Finalf(codeSyntax, "%s is no JSON", name)
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "export default JSON.parse(%s);", quoted), nil
}

// resolve is what an import statement names.
func (m *modules) resolve(referrer any, specifier string) (sobek.ModuleRecord, error) {
	from := m.importer(referrer)
	name, err := locate(from, specifier)
	if err != nil {
		return nil, err
	}
	src, err := m.read(name, from)
	if err != nil {
		return nil, err
	}
	if src.record == nil {
		return nil, engine.Finalf(codeImport, "%s imports %s, which is CommonJS: write it with export", from, name)
	}
	return src.record, nil
}

// importer is the file that imports. Within CommonJS the runtime does not say which, but where the script is.
func (m *modules) importer(referrer any) string {
	if record, ok := referrer.(sobek.ModuleRecord); ok {
		return m.names[record]
	}
	for _, frame := range m.rt.CaptureCallStack(0, nil) {
		if m.known[frame.SrcName()] != nil {
			return frame.SrcName()
		}
	}
	return ""
}

// locate is the name in the bundle of what a file imports.
func locate(from, specifier string) (string, error) {
	shown := engine.OneLine(specifier, 100)
	name := ""
	switch {
	case strings.HasPrefix(specifier, "./"), strings.HasPrefix(specifier, "../"):
		name = path.Join(path.Dir(from), specifier)
	case strings.HasPrefix(specifier, wall.DirSkill+"/"):
		name = strings.TrimPrefix(path.Clean(specifier), wall.DirSkill+"/")
	default:
		return "", engine.Finalf(codeImport, "%s imports %q: only files of the bundle can be imported, as ./name.js or ./name.json; "+
			"there is no Node.js here, and packages must be bundled into one file", from, shown)
	}
	switch ext := path.Ext(name); {
	case strings.HasPrefix(name, "../"):
		return "", engine.Finalf(codeImport, "%s imports %q, which is outside of the bundle", from, shown)
	case ext != ".js" && ext != ".mjs" && ext != ".json":
		return "", engine.Finalf(codeImport, "%s imports %q: expected the file's whole name, which ends in .js, .mjs or .json", from, shown)
	}
	return name, nil
}

// dynamic serves import() as a function.
func (m *modules) dynamic(referrer any, specifier sobek.Value, capability any) {
	record, err := m.resolve(referrer, specifier.String())
	if err == nil {
		err = record.Link()
	}
	if err != nil {
		m.rt.FinishLoadingImportModule(referrer, specifier, capability, nil, m.rt.NewTypeError(linkError(err, "import()").Message))
		return
	}
	m.rt.FinishLoadingImportModule(referrer, specifier, capability, record, nil)
}

func linkError(err error, name string) *engine.Failure {
	var f *engine.Failure
	if errors.As(err, &f) {
		return f
	}
	var bad *sobek.CompilerSyntaxError
	if errors.As(err, &bad) {
		return syntaxError(err)
	}
	return engine.Finalf(codeImport, "%s: %s", name, engine.OneLine(err.Error(), 300))
}
