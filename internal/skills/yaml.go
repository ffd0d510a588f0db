package skills

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxYAML      = 256 << 10 // bytes of skill.yaml, and of a frontmatter
	maxTokens    = 50_000    // of one YAML text
	maxDepth     = 64        // levels of nesting
	maxLineNests = 32        // "- - - -": levels that one line may open
)

// yamlError is what is wrong with a YAML text, and where. Line and column start at 1; 0 is unknown.
type yamlError struct {
	line, column int
	message      string
}

func (e *yamlError) Error() string { return e.message }

func errorAt(tk *token.Token, format string, args ...any) *yamlError {
	e := &yamlError{message: fmt.Sprintf(format, args...)}
	if tk != nil && tk.Position != nil {
		e.line, e.column = tk.Position.Line, tk.Position.Column
	}
	return e
}

// parseYAML reads one YAML document. It returns nil for an empty one. Whatever could make a small text large (anchors,
// aliases, merge keys), or mean another type than what is written (tags), is refused. Every place is one in the text.
func parseYAML(text string) (*node, *yamlError) {
	n, err := readYAML(text)
	e := newExtent(text)
	if err != nil {
		err.line, err.column = e.fit(err.line, err.column)
	}
	e.fitAll(n)
	return n, err
}

func readYAML(text string) (n *node, err *yamlError) {
	// The parser is known to panic on some malformed texts, and a bundle may be hostile.
	defer func() {
		if p := recover(); p != nil {
			n, err = nil, &yamlError{line: 1, column: 1, message: "this is not YAML that can be read"}
		}
	}()
	if len(text) > maxYAML {
		return nil, textError(text, maxYAML, "%d bytes are too many; the most is %d", len(text), maxYAML)
	}
	if at := notText(text); at >= 0 {
		return nil, textError(text, at, "this is not UTF-8 text")
	}
	if strings.Contains(text, "\r") { // the lexer miscounts some of the line breaks that YAML knows
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, perr := parser.Parse(tokens, 0)
	if perr != nil {
		return nil, syntaxError(perr)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, errorAt(doc.Body.GetToken(), "a second YAML document; there may be only one")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, nil
	}
	return convert(body, 0)
}

// notText is where a text is no UTF-8, or has a NUL; -1 if it is fine.
func notText(text string) int {
	for at, r := range text {
		if r == 0 {
			return at
		}
		if _, size := utf8.DecodeRuneInString(text[at:]); r == utf8.RuneError && size == 1 {
			return at
		}
	}
	return -1
}

// textError is an error at a byte of a text.
func textError(text string, at int, format string, args ...any) *yamlError {
	before := text[:at]
	last := strings.LastIndexAny(before, "\r\n") + 1
	return &yamlError{
		line: 1 + lineBreaks(before), column: 1 + utf8.RuneCountInString(before[last:]), message: fmt.Sprintf(format, args...),
	}
}

// extent is how many characters each line of a text has.
type extent []int

func newExtent(text string) extent {
	var e extent
	for {
		at := strings.IndexAny(text, "\r\n")
		if at < 0 {
			return append(e, utf8.RuneCountInString(text))
		}
		e = append(e, utf8.RuneCountInString(text[:at]))
		if strings.HasPrefix(text[at:], "\r\n") {
			at++
		}
		text = text[at+1:]
	}
}

// fit returns the nearest place that there is: behind tabs and escapes the lexer's columns are off by some.
func (e extent) fit(line, column int) (int, int) {
	line = max(1, min(line, len(e)))
	return line, max(1, min(column, e[line-1]+1))
}

func (e extent) fitAll(n *node) {
	if n == nil {
		return
	}
	n.line, n.column = e.fit(n.line, n.column)
	for _, f := range n.fields {
		f.name.line, f.name.column = e.fit(f.name.line, f.name.column)
		e.fitAll(f.value)
	}
	for _, it := range n.items {
		e.fitAll(it)
	}
}

// lineBreaks counts lines as YAML does: a carriage return by itself ends one, too.
func lineBreaks(text string) int {
	return strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n")
}

func syntaxError(err error) *yamlError {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &at) {
		return errorAt(at.GetToken(), "%s", clip(at.GetMessage(), 200))
	}
	return &yamlError{line: 1, column: 1, message: clip(err.Error(), 200)}
}

// checkTokens refuses what must not reach the parser, which recurses.
func checkTokens(tokens token.Tokens) *yamlError {
	if len(tokens) > maxTokens {
		return errorAt(tokens[maxTokens], "too much YAML: more than %d tokens", maxTokens)
	}
	flow, line, nests := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			line, nests = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return errorAt(tk, "anchors, aliases and merge keys (&, *, <<) are not allowed; write the value out")
		case token.TagType:
			return errorAt(tk, "tags (!) are not allowed; quote the value if it starts with \"!\"")
		case token.MappingKeyType:
			return errorAt(tk, "complex keys (?) are not allowed; quote the value if it starts with \"?\"")
		case token.DirectiveType:
			return errorAt(tk, "directives (%%) are not allowed")
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingValueType:
			if flow <= 0 {
				nests++
			}
		}
		if flow > maxDepth || nests > maxLineNests {
			return errorAt(tk, "nested too deep")
		}
	}
	return nil
}

// convert turns the parser's tree into ours.
func convert(n ast.Node, depth int) (*node, *yamlError) {
	tk := n.GetToken()
	if depth > maxDepth {
		return nil, errorAt(tk, "nested deeper than %d levels", maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return convertMap(tk, n.Values, depth)
	case *ast.MappingValueNode:
		return convertMap(tk, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := newNode(listKind, tk)
		for _, v := range n.Values {
			item, err := convert(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	}
	return convertScalar(n, tk)
}

func convertMap(tk *token.Token, values []*ast.MappingValueNode, depth int) (*node, *yamlError) {
	out := newNode(mapKind, tk)
	seen := make(map[string]bool, len(values))
	for i, v := range values {
		name, err := convertScalar(v.Key, v.Key.GetToken())
		if err != nil {
			return nil, err
		}
		if name.kind == nullKind {
			return nil, errorAt(v.Key.GetToken(), "an empty key")
		}
		if seen[name.text] {
			return nil, errorAt(v.Key.GetToken(), "the key %q is there twice", clip(name.text, 64))
		}
		seen[name.text] = true
		if i == 0 && tk.Type != token.MappingStartType {
			out.line, out.column = name.line, name.column // a block mapping's own token is its first colon
		}
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, field{key: name.text, name: name, value: value})
	}
	return out, nil
}

func convertScalar(n ast.Node, tk *token.Token) (*node, *yamlError) {
	switch n := n.(type) {
	case *ast.StringNode:
		return scalar(stringKind, tk, n.Value, ""), nil
	case *ast.LiteralNode:
		return scalar(stringKind, tk, n.Value.Value, ""), nil
	case *ast.IntegerNode:
		return scalar(intKind, tk, tk.Value, fmt.Sprint(n.Value)), nil
	case *ast.FloatNode:
		return scalar(floatKind, tk, tk.Value, strconv.FormatFloat(n.Value, 'g', -1, 64)), nil
	case *ast.BoolNode:
		return scalar(boolKind, tk, tk.Value, strconv.FormatBool(n.Value)), nil
	case *ast.NullNode:
		return newNode(nullKind, tk), nil
	case *ast.InfinityNode, *ast.NanNode:
		return nil, errorAt(tk, "%s is not a number that can be used", clip(tk.Value, 32))
	}
	return nil, errorAt(tk, "expected a plain value")
}

func newNode(k nodeKind, tk *token.Token) *node {
	n := &node{kind: k}
	if tk != nil && tk.Position != nil {
		n.line, n.column = tk.Position.Line, tk.Position.Column
	}
	return n
}

func scalar(k nodeKind, tk *token.Token, text, asJSON string) *node {
	n := newNode(k, tk)
	n.text, n.json = text, asJSON
	return n
}

// clip cuts a text to at most n bytes, on a rune boundary, and drops what a terminal would act on.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, s[:min(len(s), 4*n)])
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
