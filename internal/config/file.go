package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// Bounds on a file. The YAML parser takes time quadratic in the nesting, so that is bounded before it starts.
const (
	maxFile    = 64 << 10 // bytes
	maxNesting = 16       // brackets, or dashes on one line
)

// layer is what one source sets: by key a string, a []string for a list, or what a file alone can say.
type layer struct {
	values  map[string]any
	origins map[string]Origin
	faults  []*FieldError
}

func newLayer() *layer { return &layer{values: map[string]any{}, origins: map[string]Origin{}} }

func (l *layer) set(key string, value any, from Origin) {
	l.values[key], l.origins[key] = value, from
}

func (l *layer) fault(key, why string, from Origin) {
	l.faults = append(l.faults, &FieldError{Key: key, Why: why, Origin: from})
}

// parseFile reads a YAML file. Keys and the kinds of values are checked here, where their positions are known.
func parseFile(s schema, name string, data []byte) (*layer, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file is larger than %d KiB", name, maxFile>>10)
	}
	if err := checkTokens(lexer.Tokenize(string(data))); err != nil {
		return nil, positioned(name, err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, positioned(name, err)
	}
	r := reader{schema: s, name: name, layer: newLayer()}
	switch len(file.Docs) {
	case 0:
		return r.layer, nil
	case 1:
	default:
		return nil, fmt.Errorf("%s: expected one YAML document, found %d", name, len(file.Docs))
	}
	if body := file.Docs[0].Body; body != nil {
		r.section("", body)
	}
	return r.layer, joined(r.layer.faults)
}

// checkTokens refuses what a configuration never needs and what makes parsing costly.
func checkTokens(tokens token.Tokens) error {
	open, dashes, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			dashes, line = 0, tk.Position.Line
		}
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return at(tk, "anchors and aliases are not allowed")
		case token.TagType, token.DirectiveType, token.MappingKeyType:
			return at(tk, "tags, directives and complex keys are not allowed")
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			dashes++
		}
		if open > maxNesting || dashes > maxNesting {
			return at(tk, "nested too deeply")
		}
	}
	return nil
}

func at(tk *token.Token, msg string) error { return &yaml.SyntaxError{Message: msg, Token: tk} }

// positioned turns a YAML library's error into one line of file:line:column and message.
func positioned(name string, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", name, err)
	}
	msg, _, _ := strings.Cut(e.GetMessage(), "\n")
	if tk := e.GetToken(); tk != nil && tk.Position != nil {
		return fmt.Errorf("%s:%d:%d: %s", name, tk.Position.Line, tk.Position.Column, msg)
	}
	return fmt.Errorf("%s: %s", name, msg)
}

// reader walks a syntax tree.
type reader struct {
	schema schema
	name   string
	layer  *layer
}

func (r *reader) origin(n ast.Node) Origin {
	where := r.name
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		where = fmt.Sprintf("%s:%d:%d", r.name, tk.Position.Line, tk.Position.Column)
	}
	return Origin{Layer: LayerFile, Where: where}
}

func (r *reader) fault(key, why string, n ast.Node) {
	if key == "" {
		key = "the file"
	}
	r.layer.fault(key, why, r.origin(n))
}

// section reads the mapping that a key names; "" is the whole file. A section with nothing in it is empty.
func (r *reader) section(key string, n ast.Node) {
	if n.Type() == ast.NullType || n.Type() == ast.CommentType {
		return
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fault(key, "expected a mapping", n)
		return
	}
	for it := m.MapRange(); it.Next(); {
		name, ok := keyName(it.Key())
		if !ok {
			r.fault(key, "expected a plain name as key", it.Key())
			continue
		}
		child := join(key, name)
		switch r.schema.kind(child) {
		case section:
			r.section(child, it.Value())
		case leaf:
			r.leaf(r.schema.fields[child], it.Value())
		case entry:
			r.text(child, it.Value())
		case unknownKey:
			r.fault(child, r.schema.why(child), it.Key())
		}
	}
}

// keyName refuses dots above all, which would name something else once they are joined.
func keyName(n ast.MapKeyNode) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if !ok || len(s.Value) > 64 {
		return "", false
	}
	for _, r := range s.Value {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "", false
		}
	}
	return s.Value, s.Value != ""
}

func (r *reader) leaf(f field, n ast.Node) {
	switch place := f.place(&Config{}).(type) {
	case *map[string]string:
		r.section(f.key, n)
	case *Secrets:
		r.layer.set(f.key, Secrets(r.references(f.key, n)), r.origin(n))
	case *Logins:
		r.layer.set(f.key, r.logins(f.key, n), r.origin(n))
	case *[]llm.Provider:
		r.layer.set(f.key, each(r, f.key, n, providerParts), r.origin(n))
	case *map[string]MCPServer:
		r.layer.set(f.key, named(r, f.key, n, serverParts), r.origin(n))
	case *map[string]Tenant:
		r.layer.set(f.key, named(r, f.key, n, tenantParts), r.origin(n))
	default:
		if raw, ok := r.value(place, f.key, n); ok {
			r.layer.set(f.key, raw, r.origin(n))
		}
	}
}

// value reads what a place can hold: a string, or a []string for a list.
func (r *reader) value(place any, key string, n ast.Node) (raw any, ok bool) {
	switch place.(type) {
	case *[]string:
		return r.list(key, n)
	case *policies.Network:
		return r.network(key, n)
	case *bool:
		return r.scalar(key, n, "true or false", ast.BoolType)
	case *int, *int64:
		return r.scalar(key, n, "a whole number", ast.IntegerType)
	case *float64:
		return r.scalar(key, n, "a number", ast.IntegerType, ast.FloatType)
	case *policies.Bytes, *policies.MilliCPU:
		return r.scalar(key, n, "a quantity", ast.IntegerType, ast.FloatType, ast.StringType)
	case *llm.Money:
		return r.scalar(key, n, "an amount", ast.IntegerType, ast.FloatType, ast.StringType)
	case *Age:
		return r.scalar(key, n, "a length of time", ast.IntegerType, ast.StringType)
	}
	return r.scalar(key, n, "text", ast.StringType, ast.LiteralType)
}

// text sets an entry of a mapping.
func (r *reader) text(key string, n ast.Node) {
	if raw, ok := r.value((*string)(nil), key, n); ok {
		r.layer.set(key, raw, r.origin(n))
	}
}

// network reads the word none, or {allow: [...]}.
func (r *reader) network(key string, n ast.Node) (raw any, ok bool) {
	if s, isText := scalarText(n, []ast.NodeType{ast.StringType}); isText && s == noNetwork {
		return s, true
	}
	if _, isMap := n.(ast.MapNode); !isMap {
		r.fault(key, "expected none or {allow: [HOST:PORT, ...]}, not "+kindOf(n), n)
		return nil, false
	}
	allow := []string{}
	r.entry(key, n, []part{{"allow", &allow}})
	return allow, true
}

func (r *reader) scalar(key string, n ast.Node, want string, types ...ast.NodeType) (raw any, ok bool) {
	if s, ok := scalarText(n, types); ok {
		return s, true
	}
	r.fault(key, "expected "+want+", not "+kindOf(n), n)
	return nil, false
}

func (r *reader) list(key string, n ast.Node) (raw any, ok bool) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(key, "expected a list, not "+kindOf(n), n)
		return nil, false
	}
	list := make([]string, 0, len(seq.Values))
	for _, v := range seq.Values {
		s, ok := scalarText(v, []ast.NodeType{ast.StringType, ast.LiteralType})
		if !ok {
			s, ok = colonText(v)
		}
		if !ok {
			r.fault(key, "expected a list of texts, not of "+kindOf(v), v)
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// colonText is a text such as host:443, without quotes and within {...}, which the parser takes for a mapping. One of those has
// a blank behind its colon.
func colonText(n ast.Node) (string, bool) {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 1 {
		n = m.Values[0]
	}
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || pair.Start == nil || pair.Key == nil || pair.Value == nil {
		return "", false
	}
	key, colon, value := pair.Key.GetToken(), pair.Start, pair.Value.GetToken()
	if colon.Position.Line != value.Position.Line || colon.Position.Column+1 != value.Position.Column {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

func scalarText(n ast.Node, types []ast.NodeType) (string, bool) {
	for _, t := range types {
		if n.Type() != t {
			continue
		}
		switch s := n.(type) {
		case *ast.StringNode:
			return s.Value, true
		case *ast.LiteralNode:
			return s.Value.Value, true
		}
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "nothing"
	case ast.BoolType:
		return "true or false"
	case ast.IntegerType, ast.InfinityType, ast.NanType:
		return "a number"
	case ast.FloatType:
		return "a fraction"
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	}
	return "this"
}
