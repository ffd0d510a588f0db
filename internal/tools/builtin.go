package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
	_ "time/tzdata" // the host may have no zones
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/calculator"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// builtin is a tool of hotcell's own. None of them writes.
type builtin struct {
	def    wall.ToolDef
	schema *skills.Schema
	run    func(g *grant, args map[string]any) (any, error)
}

func (b *builtin) definition() (wall.ToolDef, error) { return b.def, nil }

func (b *builtin) use(_ context.Context, g *grant, args map[string]any) (any, error) {
	if err := b.schema.Validate(args); err != nil {
		return nil, invalid(err)
	}
	return b.run(g, args)
}

// builtins returns hotcell's own tools by name.
func builtins(now func() time.Time) map[string]*builtin {
	all := map[string]*builtin{}
	for _, b := range []struct {
		name, about, schema string
		run                 func(g *grant, args map[string]any) (any, error)
	}{
		{
			"time", "The time now, in UTC and in a time zone.",
			`{"type":"object","additionalProperties":false,"properties":{
				"zone":{"type":"string","maxLength":64,"description":"IANA time zone, such as Europe/Berlin; UTC when left out"}}}`,
			func(_ *grant, args map[string]any) (any, error) { return timeIn(now(), args) },
		},
		{
			"calculator", "Evaluates an arithmetic expression in exact fractions: + - * / // % ** and parentheses, and " + calculator.Names() +
				". round rounds halves away from zero; // and % round down.",
			`{"type":"object","additionalProperties":false,"required":["expression"],"properties":{
				"expression":{"type":"string","description":"such as (1 + 2) * 3 / 7"}}}`,
			func(_ *grant, args map[string]any) (any, error) { return calculate(args) },
		},
		{
			"read_file", "Reads a file of the skill's own bundle, or lists one of its folders.",
			`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
				"path":{"type":"string","minLength":1,"maxLength":512,"description":"relative to the bundle, such as references/guide.md; . is its root"},
				"offset":{"type":"integer","minimum":0,"description":"bytes to skip"},
				"limit":{"type":"integer","minimum":1,"maximum":262144,"description":"bytes to read at most"}}}`,
			func(g *grant, args map[string]any) (any, error) { return readFile(g.ask.Skill.Bundle.FS, args) },
		},
	} {
		schema, err := skills.CompileSchema([]byte(b.schema), "arguments")
		if err != nil {
			panic(err) // the schemas above are constants
		}
		all[b.name] = &builtin{
			def:    wall.ToolDef{Name: b.name, Description: b.about, InputSchema: json.RawMessage(compact(b.schema))},
			schema: schema, run: b.run,
		}
	}
	return all
}

// compact takes the blanks of a literal's layout out.
func compact(schema string) string {
	return strings.NewReplacer("\n", "", "\t", "").Replace(schema)
}

func timeIn(now time.Time, args map[string]any) (any, error) {
	name, _ := args["zone"].(string)
	if name == "" {
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, invalid(fmt.Errorf("arguments.zone: %q is no IANA time zone; expected one such as Europe/Berlin", clip(name)))
	}
	local := now.In(zone)
	short, _ := local.Zone()
	return map[string]any{
		"utc": now.UTC().Format(time.RFC3339), "unix": now.Unix(), "zone": name, "local": local.Format(time.RFC3339),
		"abbreviation": short, "weekday": local.Weekday().String(),
	}, nil
}

func calculate(args map[string]any) (any, error) {
	expression, _ := args["expression"].(string)
	n, err := calculator.Evaluate(expression)
	if err != nil {
		return nil, invalid(err)
	}
	out := map[string]any{"result": n.String(), "exact": n.Exact()}
	if fraction := n.Fraction(); fraction != "" {
		out["fraction"] = fraction
	}
	return out, nil
}

// maxRead is the most bytes of one read.
const maxRead = 256 << 10

// readFile reads from a bundle, which is a view of its own: no path leads out of it.
func readFile(bundle fs.FS, args map[string]any) (any, error) {
	asked, _ := args["path"].(string)
	name := path.Clean(strings.TrimPrefix(asked, wall.DirSkill+"/"))
	if !fs.ValidPath(name) {
		return nil, invalid(fmt.Errorf("arguments.path: %q does not lie in the skill's bundle; expected a path such as references/guide.md", clip(asked)))
	}
	if bundle == nil {
		return nil, notThere(asked)
	}
	f, err := bundle.Open(name)
	if err != nil {
		return nil, notThere(asked)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok && info.IsDir() {
		return listFolder(name, dir)
	}
	offset, limit := number(args["offset"], 0), number(args["limit"], maxRead)
	if _, err := io.CopyN(io.Discard, f, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, min(limit, maxRead)))
	if err != nil {
		return nil, err
	}
	out := map[string]any{"path": name, "size": info.Size(), "truncated": offset+int64(len(data)) < info.Size()}
	if utf8.Valid(data) {
		out["text"] = string(data)
	} else {
		out["base64"] = base64.StdEncoding.EncodeToString(data)
	}
	return out, nil
}

func notThere(asked string) error {
	return invalid(fmt.Errorf("arguments.path: the skill's bundle has no file %q (symbolic links and dot files are not part of it)", clip(asked)))
}

func listFolder(name string, dir fs.ReadDirFile) (any, error) {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	return map[string]any{"path": name, "entries": names}, nil
}

// number reads a whole number that a schema has let through.
func number(v any, otherwise int64) int64 {
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
		if f, err := n.Float64(); err == nil { // "1e3" is a whole number, too
			return int64(f)
		}
	}
	return otherwise
}
