package console

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Instructions are written by strangers, and a page must stay ours. So they are drawn in two steps that do not trust each other:
// the Markdown is turned into HTML without any of its own HTML, and what comes out is held to a list of elements, none of which
// has an attribute. Nothing of it can lead anywhere or load anything: a link is its text and its address, an image its words and
// its address, to be read and not to be clicked. HTML in it is shown as the text that it is: agents read it, too. Headings go
// down by two, since the page has its own.

// Bounds of what is drawn; beyond them instructions are shown as the text that they are.
const (
	maxDrawn = 100_000 // bytes
	maxDeep  = 40      // quotes and lists within each other, as far as the signs at the beginning of a line tell
	maxCells = 20_000  // of tables: each row gets as many as the table has columns
	maxSigns = 6_000   // brackets and signs of emphasis, whose pairs take long to find
)

var (
	markdown = goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 1000))),
	)
	allowed = bluemonday.NewPolicy().AllowElements(
		"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "hr", "br",
		"table", "thead", "tbody", "tr", "th", "td",
	)
)

// drawn turns instructions into HTML, or returns them as plain text where that would be too much.
func drawn(body string) (html template.HTML, plain string) {
	body = plainText(body)
	if len(body) > maxDrawn || deep(body) || cells(body) > maxCells || signs(body) > maxSigns {
		return "", body
	}
	var b bytes.Buffer
	if err := markdown.Convert([]byte(body), &b); err != nil {
		return "", body
	}
	return template.HTML(allowed.SanitizeBytes(b.Bytes())), "" //nolint:gosec // G203: the policy leaves elements without attributes alone
}

func signs(body string) (n int) {
	for _, r := range body {
		if strings.ContainsRune("[]*_~", r) {
			n++
		}
	}
	return n
}

// cells is how many cells tables may have at most: a table is lines without an empty one between them, and as wide as its widest.
func cells(body string) (n int) {
	rows, wide := 0, 0
	for line := range strings.SplitSeq(body, "\n") {
		if rows, wide = rows+1, max(wide, strings.Count(line, "|")); strings.TrimSpace(line) == "" {
			n, rows, wide = n+rows*wide, 0, 0
		}
	}
	return n + rows*wide
}

// deep reports whether a line opens more quotes and lists than people write.
func deep(body string) bool {
	for line := range strings.SplitSeq(body, "\n") {
		head := line[:len(line)-len(strings.TrimLeft(line, " \t>-*+0123456789.)"))]
		if strings.Count(head, ">")+strings.Count(head, "- ")+strings.Count(head, "* ")+strings.Count(head, "+ ") > maxDeep || len(head) > 400 {
			return true
		}
	}
	return false
}

// tame takes from a document what leads out of it.
type tame struct{}

// Transform implements [parser.ASTTransformer].
func (tame) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var found []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // which never fails
		if h, ok := n.(*ast.Heading); ok && entering {
			h.Level = min(h.Level+2, 6)
		}
		switch n.Kind() {
		case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindRawHTML, ast.KindHTMLBlock:
			if entering {
				found = append(found, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range found {
		parent := n.Parent()
		switch n := n.(type) {
		case *ast.Link:
			flatten(n, string(n.Destination))
		case *ast.Image:
			flatten(n, string(n.Destination))
		case *ast.AutoLink:
			parent.ReplaceChild(parent, n, words(string(n.Label(reader.Source()))))
		case *ast.RawHTML:
			parent.ReplaceChild(parent, n, words(string(n.Segments.Value(reader.Source()))))
		case *ast.HTMLBlock:
			parent.ReplaceChild(parent, n, listing(n))
		}
	}
}

// flatten puts in the place of a link its words and then its address.
func flatten(n ast.Node, to string) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.ReplaceChild(parent, n, words(" ("+to+")"))
}

// words are a piece of text as it is.
func words(s string) ast.Node {
	w := ast.NewString([]byte(s))
	w.SetRaw(true)
	return w
}

// listing shows a block of HTML as code.
func listing(n *ast.HTMLBlock) ast.Node {
	c := ast.NewCodeBlock()
	c.SetLines(n.Lines())
	if n.HasClosure() {
		c.Lines().Append(n.ClosureLine)
	}
	return c
}
