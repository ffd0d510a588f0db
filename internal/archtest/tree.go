package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is a module's code as far as the rules look at it.
type tree struct {
	module   string // the module's path
	folders  []string
	packages map[string]*pkg // by folder, relative to the module
}

type pkg struct {
	dir   string
	name  string
	files []file
}

type file struct {
	name    string
	test    bool
	comment string // the package comment
	lines   int
	imports []string
	renames bool // or links, with the standard library alone
	funcs   []function
}

type function struct {
	name  string
	lines int
}

// readTree parses all Go files below the root of a module. It passes over testdata and folders whose names start with a
// dot or an underscore, as the go command does.
func readTree(root fs.FS) (*tree, error) {
	t := &tree{packages: map[string]*pkg{}}
	gomod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(gomod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			t.module = strings.TrimSpace(name)
		}
	}
	if t.module == "" {
		return nil, errors.New("go.mod names no module")
	}
	return t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return t.visit(root, name, d)
	})
}

func (t *tree) visit(root fs.FS, name string, d fs.DirEntry) error {
	base := path.Base(name)
	if d.IsDir() {
		if name == "." {
			return nil
		}
		if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return fs.SkipDir
		}
		if !strings.Contains(name, "/") {
			t.folders = append(t.folders, name)
		}
		return nil
	}
	if !strings.HasSuffix(base, ".go") {
		return nil
	}
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	return t.add(name, src)
}

func (t *tree) add(name string, src []byte) error {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f := file{
		name:    path.Base(name),
		test:    strings.HasSuffix(name, "_test.go"),
		comment: parsed.Doc.Text(),
		lines:   bytes.Count(src, []byte("\n")),
	}
	for _, imp := range parsed.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.imports = append(f.imports, p)
	}
	f.renames = renames(parsed)
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			f.funcs = append(f.funcs, function{name: fn.Name.Name, lines: lines})
		}
	}
	dir := path.Dir(name)
	p := t.packages[dir]
	if p == nil {
		p = &pkg{dir: dir}
		t.packages[dir] = p
	}
	if p.name == "" || !f.test {
		p.name = strings.TrimSuffix(parsed.Name.Name, "_test")
	}
	p.files = append(p.files, f)
	return nil
}

// renames reports whether a file uses what gives files their names.
func renames(parsed *ast.File) (does bool) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := sel.X.(*ast.Ident)
		does = does || ok && from.Name == "os" && (sel.Sel.Name == "Rename" || sel.Sel.Name == "Link")
		return true
	})
	return does
}

// sorted returns the packages in the order of their folders.
func (t *tree) sorted() []*pkg {
	all := make([]*pkg, 0, len(t.packages))
	for _, p := range t.packages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// inside returns the folder of an imported package of this module.
func (t *tree) inside(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, t.module+"/")
}

// standard reports whether an import path is of the standard library: only there the first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// reach returns the packages of this module that dir imports, itself left out, directly or not and by files that are no
// tests, and all imports of those and of dir from outside.
func (t *tree) reach(dir string) (within, outside []string) {
	seen := map[string]bool{}
	next := []string{dir}
	for len(next) > 0 {
		p := t.packages[next[0]]
		next = next[1:]
		if p == nil {
			continue
		}
		for _, imp := range p.imports(false) {
			if seen[imp] {
				continue
			}
			seen[imp] = true
			if inner, ok := t.inside(imp); ok {
				within = append(within, inner)
				next = append(next, inner)
			} else {
				outside = append(outside, imp)
			}
		}
	}
	slices.Sort(within)
	slices.Sort(outside)
	return within, outside
}

// imports returns what the package's files import, those of its tests or of all others.
func (p *pkg) imports(tests bool) []string {
	var all []string
	for _, f := range p.files {
		if f.test == tests {
			all = append(all, f.imports...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
