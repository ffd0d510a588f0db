package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

// auditText says in one line what a row says, the most important first. What it knows no words for is shown as it is kept.
func auditText(e control.AuditRow) string {
	var d facet
	if json.Unmarshal(e.Data, &d) != nil {
		return string(e.Data)
	}
	switch kind := e.Kind; {
	case d["dropped"] != nil:
	case kind == "llm.request":
		return d.join(d.text("provider")+"/"+cmp.Or(d.text("model"), "?"), d.text("status"), d.text("reason"), d.text("error"), d.tokens(), d.cost(), d.text("ms", "ms"))
	case kind == "egress.connect":
		return d.join(d.text("host")+":"+d.text("port"), d.text("verdict"), d.text("reason"), d.text("bytes_in", "B in"), d.text("bytes_out", "B out"))
	case kind == audit.CallEnd:
		return d.join(d.verdict(), d.text("version"), d.short("bundle"), d.short("image"), d.text("driver"), d.text("confidence"), d.list("unenforced"))
	case kind == "tool.call":
		return d.join(d.text("tool"), d.text("code"), d.text("bytes", "B"), d.text("ms", "ms"))
	}
	return string(e.Data)
}

// facet is the data of an entry as it comes out of the journal, where all numbers are floats.
type facet map[string]any

// text is a value with what it is counted in, "" for none.
func (d facet) text(key string, unit ...string) string {
	switch v := d[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strings.TrimSpace(strconv.FormatFloat(v, 'f', -1, 64) + " " + strings.Join(unit, " "))
	default:
		return fmt.Sprint(v)
	}
}

// list is a list of words behind its name.
func (d facet) list(key string) string {
	all, _ := d[key].([]any)
	words := make([]string, 0, len(all))
	for _, v := range all {
		words = append(words, fmt.Sprint(v))
	}
	if len(words) == 0 {
		return ""
	}
	return key + " " + strings.Join(words, " ")
}

// verdict is how a call ended.
func (d facet) verdict() string {
	if why := d.text("reason"); why != "" {
		return d.text("code") + "/" + why
	}
	return d.text("code")
}

// short is the beginning of a digest.
func (d facet) short(key string) string {
	const enough = 12
	s := strings.TrimPrefix(d.text(key), "sha256:")
	if len(s) <= enough {
		return s
	}
	return key + " " + s[:enough]
}

func (d facet) cost() string {
	if c := d.text("cost"); c != "" {
		return "cost " + c
	}
	return ""
}

func (d facet) tokens() string {
	in, out := d.text("tokens_in"), d.text("tokens_out")
	if in == "" || out == "" || in+out == "00" {
		return ""
	}
	if d["estimated"] == true {
		return in + " + " + out + " tokens, estimated"
	}
	return in + " + " + out + " tokens"
}

func (facet) join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, ", ")
}
