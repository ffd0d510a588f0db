package console

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// drawnElements are the elements that instructions may become.
const drawnElements = " p h3 h4 h5 h6 ul ol li blockquote pre code em strong del hr br table thead tbody tr th td "

// clean reports what a drawing has that it must not.
func clean(t *testing.T, drawing string) {
	t.Helper()
	for z := html.NewTokenizer(strings.NewReader(drawing)); ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return
		case html.TextToken:
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			if tok := z.Token(); len(tok.Attr) > 0 || !strings.Contains(drawnElements, " "+tok.Data+" ") {
				t.Errorf("%v in %q", tok, drawing)
			}
		default:
			t.Errorf("%v in %q", z.Token(), drawing)
		}
	}
}

var payloads = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](https://evil.example/pixel.png)", "<https://evil.example>",
	"[a](data:text/html;base64,AA)", "<svg/onload=alert(1)>", "text <b onmouseover=alert(1)>bold</b>", "[x]: javascript:alert(1)\n\n[x]", "<!-- comment -->", "<?php x ?>",
	"<![CDATA[x]]>", "<!DOCTYPE html>", "| a |\n|:-:|\n| <script>x</script> |", "# <img src=x>", "```<script>\n<script>\n```", "`<script>`", "<style>*{display:none}</style>",
	"<div\nonclick=alert(1)>\nx", "[![a](b \"c\")](d 'e')", "**[x](y \"on\"onclick=z)**", "<a href=\"x\">y</a>", "&lt;script&gt;", "&#60;script&#62;", "\u202egnirts", "<form action=/console/logout>",
	"1) a\n   2) b", "<x-y z=1>", "<iframe src=//evil.example>", "~~x~~", "http://evil.example/<script>", "<textarea>", "</main></body>",
}

func TestInstructionsBringNothingOfTheirOwn(t *testing.T) {
	for _, p := range payloads {
		got, plain := drawn(p)
		if plain != "" || got == "" {
			t.Errorf("%q: %q, %q", p, got, plain)
		}
		clean(t, string(got))
		if strings.Contains(string(got), "\u202e") {
			t.Errorf("%q: %q", p, got)
		}
	}
	got, _ := drawn(strings.Join(payloads, "\n\n"))
	clean(t, string(got))
}

func TestInstructionsAreReadable(t *testing.T) {
	for body, want := range map[string]string{
		"# Title\n\nText *a* **b** `c`.":      "<h3>Title</h3>\n<p>Text <em>a</em> <strong>b</strong> <code>c</code>.</p>\n",
		"##### Deep":                          "<h6>Deep</h6>\n",
		"See [the docs](https://a.example/).": "<p>See the docs (https://a.example/).</p>\n",
		"![A cat](cat.png)":                   "<p>A cat (cat.png)</p>\n",
		"Give <name> and <b>x</b>.":           "<p>Give &lt;name&gt; and &lt;b&gt;x&lt;/b&gt;.</p>\n",
		"<div>\nx\n</div>":                    "<pre><code>&lt;div&gt;\nx\n&lt;/div&gt;</code></pre>\n",
		"- [x] done\n- [ ] not":               "<ul>\n<li>[x] done</li>\n<li>[ ] not</li>\n</ul>\n",
		"| a | b |\n|--:|---|\n| 1 | 2 |":     "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
	} {
		if got, plain := drawn(body); string(got) != want || plain != "" {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

// What is built to make readers of Markdown slow is drawn soon, or is shown as text.
func TestInstructionsThatTakeLong(t *testing.T) {
	const size = maxDrawn - 100
	for _, unit := range []string{
		">", "> ", "- ", "* ", "1. ", "[", "![", "](", "[a](", "*a_ ", "**", "_a*", "`", "a`b``", "<", "<!--", "<a ", "&", "|", "| a ", "\\", "~~a", "#", "[a]: b\n", "[a]: b 'c\n", "> - ", "\t-", "a\n> ",
		"```\n", "~", "<![CDATA[", "<?", "$ ", "http://a ", "*a **b ", "[a][b", "\n\n- ", "- a\n  ", "|\n-|", "***", "a**b",
	} {
		body := strings.Repeat(unit, size/len(unit))
		began := time.Now()
		got, _ := drawn(body)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%q takes %s", unit, took)
		} else if took > 50*time.Millisecond {
			t.Logf("%q takes %s", unit, took)
		}
		clean(t, string(got))
	}
	nested := ""
	for i := range 3000 {
		nested += strings.Repeat(" ", i%380) + "- a\n"
	}
	began := time.Now()
	drawn(nested)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("nested lists take %s", took)
	}
}

func FuzzInstructions(f *testing.F) {
	for _, p := range payloads {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, _ := drawn(body)
		clean(t, string(got))
	})
}
