package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// maxExamples is how many of a skill's examples a form offers.
const maxExamples = 8

// tryView is the form that calls a skill.
type tryView struct {
	Name, Description string
	Hint              string // of the skill about its arguments
	Path, Back        string
	Principal         int64
	Fields            []*field
	Examples          []example

	Timeout, TimeoutFault string
	Usual                 string // time-out of the skill, in seconds
	JSON, JSONFault       string
	Whole                 bool   // the arguments are written as JSON
	Fault                 string // of the call as a whole
	Faults                int
}

// example is a proposal of the skill's for the arguments.
type example struct{ Label, Path string }

// trial finds the skill and makes its form.
func (v *visit) trial() (*tryView, *catalog.Entry, error) {
	name, principal := v.r.PathValue("name"), v.owner()
	entry, err := v.callable(name, principal)
	if err != nil {
		return nil, nil, err
	}
	def := &entry.Definition
	d := &tryView{
		Name: def.Name, Description: def.Description, Hint: def.ArgumentHint, Principal: principal,
		Path: skillPath(def.Name, principal, "try"), Back: skillPath(def.Name, principal),
		Fields: fieldsOf(def.InputSchema, def.Arguments),
	}
	if d.Whole = len(d.Fields) == 0; d.Whole {
		d.JSON = "{}"
	}
	if def.TimeoutSeconds != nil {
		d.Usual = strconv.Itoa(*def.TimeoutSeconds)
	}
	for i, raw := range entry.Examples[:min(len(entry.Examples), maxExamples)] {
		if label, _ := proposal(raw); label != "" {
			d.Examples = append(d.Examples, example{label, withParam(d.Path, "example", strconv.Itoa(i))})
		}
	}
	return d, entry, nil
}

// proposal reads an example of a skill: its name and its arguments, "" where it has none.
func proposal(raw any) (label string, args map[string]json.RawMessage) {
	b, err := json.Marshal(raw)
	var in struct {
		Name, Title, Description string
		Arguments                map[string]json.RawMessage
	}
	if err != nil || json.Unmarshal(b, &in) != nil || len(in.Arguments) == 0 {
		return "", nil
	}
	for _, label := range []string{in.Title, in.Name, in.Description} {
		if label != "" {
			return clip(label, 80), in.Arguments
		}
	}
	b, _ = json.Marshal(in.Arguments)
	return clip(string(b), 80), in.Arguments
}

func (v *visit) try() error {
	d, entry, err := v.trial()
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(v.query("example", 9)); err == nil && n >= 0 && n < len(entry.Examples) {
		if _, args := proposal(entry.Examples[n]); args != nil {
			d.propose(args)
		}
	}
	return v.render("try", "Try "+d.Name, d)
}

// propose fills the form with arguments.
func (d *tryView) propose(args map[string]json.RawMessage) {
	b, _ := json.Marshal(args)
	d.JSON = indented(b)
	for _, f := range d.Fields {
		f.Value = ""
		f.propose(args[f.Key])
	}
}

// tryIt takes the form and starts the call, whose page shows what it says while it runs.
func (v *visit) tryIt() error {
	d, _, err := v.trial()
	if err != nil {
		return err
	}
	req := d.read(v)
	if req == nil {
		return v.renderAs(http.StatusUnprocessableEntity, "try", "Try "+d.Name, d)
	}
	id, err := v.start(req)
	var refused *a2e.Error
	switch {
	case errors.As(err, &refused):
		d.refused(refused.Message)
		return v.renderAs(http.StatusUnprocessableEntity, "try", "Try "+d.Name, d)
	case err != nil:
		return err
	}
	return v.done(at("calls", id), "")
}

// read reads the form. It returns nil where something is wrong with it.
func (d *tryView) read(v *visit) *a2e.CallRequest {
	d.Timeout = strings.TrimSpace(v.form("timeout"))
	var args any
	if d.Whole = v.form("whole") != "" || len(d.Fields) == 0; d.Whole {
		args = d.readWhole(v.form("json"))
	} else {
		args = d.readFields(v)
	}
	line := map[string]any{"type": a2e.TypeCallRequest, "id": a2e.NewID(), "version": a2e.Version, "ts": 0, "name": d.Name, "arguments": args}
	if n, err := strconv.Atoi(d.Timeout); d.Timeout != "" {
		if err != nil || n < 1 {
			d.TimeoutFault = "Expected a whole number of seconds above 0, or nothing."
			d.Faults++
		}
		line["timeout"] = n
	}
	if d.Faults > 0 || d.JSONFault != "" || d.TimeoutFault != "" {
		return nil
	}
	b, err := json.Marshal(line)
	if err != nil {
		d.refused(err.Error())
		return nil
	}
	m, err := a2e.Parse(b)
	req, ok := m.(*a2e.CallRequest)
	if err != nil || !ok {
		d.refused(a2e.AsError(err).Message)
		return nil
	}
	return req
}

// readFields reads the arguments one by one.
func (d *tryView) readFields(v *visit) map[string]json.RawMessage {
	args := map[string]json.RawMessage{}
	for _, f := range d.Fields {
		if value := f.take(v.form(f.Name)); value != nil {
			args[f.Key] = value
		}
		if f.Fault != "" {
			d.Faults++
		}
	}
	return args
}

// readWhole reads arguments that are written as JSON. Those that are secret are not shown again.
func (d *tryView) readWhole(typed string) json.RawMessage {
	typed = normal(typed)
	secret := false
	for _, f := range d.Fields {
		secret = secret || f.Kind == kindSecret
	}
	if !secret {
		d.JSON = typed
	}
	if strings.TrimSpace(typed) == "" {
		typed = "{}"
	}
	if err := syntax(typed); err != nil {
		d.JSONFault = sentence(err)
		return nil
	}
	if kind := a2e.JSONKind([]byte(typed)); kind != "an object" {
		d.JSONFault = "Expected an object, {...}, got " + kind + "."
		return nil
	}
	if secret {
		shown := map[string]json.RawMessage{}
		_ = json.Unmarshal([]byte(typed), &shown) // it is one
		for _, f := range d.Fields {
			if f.Kind == kindSecret {
				delete(shown, f.Key)
			}
		}
		b, _ := json.Marshal(shown)
		d.JSON = indented(b)
	}
	return json.RawMessage(typed)
}

// refused shows why a call was not taken, at the fields that it names.
func (d *tryView) refused(message string) {
	if d.Whole {
		d.JSONFault = message
		return
	}
	var rest []string
	for part := range strings.SplitSeq(message, "; ") {
		if !d.blame(part) {
			rest = append(rest, part)
		}
	}
	d.Fault = strings.Join(rest, "; ")
}

// blame puts what the schema says of one argument to its field.
func (d *tryView) blame(part string) bool {
	path, said, ok := strings.Cut(part, ": ")
	if !ok {
		return false
	}
	for _, f := range d.Fields {
		below, is := strings.CutPrefix(path, "arguments."+f.Key)
		if !is || below != "" && below[0] != '.' && below[0] != '[' {
			continue
		}
		if f.Fault = said; below != "" {
			f.Fault = below + ": " + said
		}
		d.Faults++
		return true
	}
	return false
}
