package a2ahost

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// order is what a message asks for: a skill and its arguments. Without a skill it asks for nothing yet.
type order struct {
	skill     *skill
	arguments map[string]any
}

// choose finds the skill that a request means (protocols decision 26) and what to hand it. earlier are the messages of the
// task so far, which an answer to its question leads on from.
func choose(s *shelf, p *sendParams, earlier []*message) (order, error) {
	one, parts, err := named(s, p)
	if err != nil {
		return order{}, err
	}
	text := textOf(parts)
	if one == nil && len(earlier) > 0 {
		if one = s.find(text); one != nil {
			parts = nil // the text was its name, and nothing else
		}
	}
	if one == nil {
		one = s.only()
	}
	if one == nil {
		one = s.triggered(text)
	}
	if one == nil {
		return order{}, nil
	}
	if len(parts) == 0 && len(earlier) > 0 {
		parts = earlier[0].Parts
	}
	arguments, err := argumentsOf(one, parts)
	return order{one, arguments}, err
}

// skillKeys are the names under which metadata says which skill is meant.
var skillKeys = []string{"skill_id", "skillId", "skill"}

// named returns the skill that a request names, nil where it names none, and the parts that are left for its arguments.
func named(s *shelf, p *sendParams) (*skill, []*part, error) {
	parts := p.Message.Parts
	for _, at := range []struct {
		field string
		meta  map[string]any
	}{{"message.metadata.", p.Message.Metadata}, {"metadata.", p.Metadata}} {
		for _, key := range skillKeys {
			v, there := at.meta[key]
			if !there || v == nil {
				continue
			}
			one, err := s.called(at.field+key, v)
			return one, unwrapped(parts), err
		}
	}
	for i, part := range parts {
		call := callIn(part)
		if call == nil {
			continue
		}
		var name any
		_ = json.Unmarshal(call["skill"], &name)
		one, err := s.called("message.parts.data.skill", name)
		rest := slices.Clone(parts)
		rest[i] = argumentsPart(call)
		return one, rest, err
	}
	return nil, parts, nil
}

// called returns the skill that a field names.
func (s *shelf) called(field string, name any) (*skill, error) {
	text, ok := name.(string)
	if !ok {
		return nil, invalid(field, "expected the id of a skill")
	}
	one := s.find(text)
	if one == nil && s.barred != nil {
		one = s.barred(text)
	}
	if one == nil {
		return nil, invalid(field, "unknown skill %q: %s lists those that there are", clip(text, 80), catalogue)
	}
	return one, nil
}

// callIn reads {"skill": ..., "arguments": {...}} in a data part, nil where it is something else.
func callIn(p *part) map[string]json.RawMessage {
	var call map[string]json.RawMessage
	if p.Data == nil || json.Unmarshal(p.Data, &call) != nil || call["skill"] == nil {
		return nil
	}
	for key := range call {
		if key != "skill" && key != "arguments" {
			return nil
		}
	}
	return call
}

func argumentsPart(call map[string]json.RawMessage) *part {
	if raw := call["arguments"]; raw != nil && string(raw) != "null" {
		return &part{Data: raw}
	}
	return &part{Data: json.RawMessage("{}")}
}

// unwrapped takes the arguments out of data parts that name a skill too, where metadata has named it already.
func unwrapped(parts []*part) []*part {
	out := slices.Clone(parts)
	for i, p := range parts {
		if call := callIn(p); call != nil && call["arguments"] != nil {
			out[i] = argumentsPart(call)
		}
	}
	return out
}

func textOf(parts []*part) string {
	var all []string
	for _, p := range parts {
		if p.Text != nil {
			all = append(all, *p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// argumentsOf makes a skill's arguments of the parts of a message.
func argumentsOf(s *skill, parts []*part) (map[string]any, error) {
	arguments := map[string]any{}
	var texts []string
	for _, p := range parts {
		var err error
		switch {
		case p.Data != nil:
			err = s.takeData(arguments, p)
		case p.Text != nil:
			texts, err = s.takeWords(arguments, p, texts)
		default:
			err = s.takeFile(arguments, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return arguments, s.takeText(arguments, strings.Join(texts, "\n"))
}

// takeWords hands a text of a media type to the property that takes such, and adds any other one to the texts so far.
func (s *skill) takeWords(arguments map[string]any, p *part, texts []string) ([]string, error) {
	kind := p.media()
	name := s.input.media[kind]
	_, taken := arguments[name]
	switch {
	case strings.TrimSpace(*p.Text) == "":
		return texts, nil
	case kind == mediaJSON:
		if !isObject(*p.Text) {
			return nil, invalid("message.parts.text", "expected a JSON object: the skill's arguments")
		}
	case name != "" && !taken && kind != mediaText && matches(kind, s.in):
		arguments[name] = *p.Text
		return texts, nil
	case !matches(kind, s.in) && (kind != mediaText || !isObject(*p.Text)):
		return nil, s.refuse(kind)
	}
	return append(texts, *p.Text), nil
}

func (s *skill) refuse(media string) error {
	return faultf(a2a.ErrUnsupportedContentType, "skill %s does not take %s: it takes %s", s.id, media, strings.Join(s.in, ", "))
}

func (s *skill) takeData(arguments map[string]any, p *part) error {
	if kind := p.media(); kind != mediaJSON && !matches(kind, s.in) {
		return s.refuse(kind)
	}
	object, ok := objectIn(string(p.Data))
	if !ok {
		return invalid("message.parts.data", "expected an object: the skill's arguments")
	}
	maps.Copy(arguments, object)
	return nil
}

// takeText hands a text to the property that takes one. A text that is an object is the arguments themselves, unless the
// skill takes text and has no such properties.
func (s *skill) takeText(arguments map[string]any, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	name := s.input.text
	if s.input.open {
		name = "text"
	}
	object, ok := objectIn(text)
	if ok && (name == "" || s.input.open || s.input.has(object)) {
		maps.Copy(arguments, object)
		return nil
	}
	if _, taken := arguments[name]; name == "" || name == "." {
		if len(arguments) > 0 {
			return nil // words beside the arguments, for whoever reads along
		}
		return s.refuse(mediaText)
	} else if !taken {
		arguments[name] = text
	}
	return nil
}

// takeFile hands a part that is a file to the property that takes one, if the skill declares its media type.
func (s *skill) takeFile(arguments map[string]any, p *part) error {
	form, value := fileBytes, p.Raw
	if p.URL != nil {
		form, value = fileAddress, p.URL
	}
	for _, name := range s.input.names {
		if _, taken := arguments[name]; !taken && s.input.files[name] == form && matches(p.media(), s.in) {
			arguments[name] = *value
			return nil
		}
	}
	return s.refuse(p.media())
}

// has reports whether all keys of an object are properties.
func (s shape) has(object map[string]any) bool {
	for key := range object {
		if !slices.Contains(s.names, key) {
			return false
		}
	}
	return true
}

func isObject(text string) bool {
	_, ok := objectIn(text)
	return ok
}

func objectIn(text string) (map[string]any, bool) {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") || wellFormed([]byte(text)) != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var object map[string]any
	return object, d.Decode(&object) == nil && object != nil
}

// agree finds out whether a client takes what a skill gives (protocols decision 27), and whether it takes text alone.
func (s *skill) agree(c *configuration) (text bool, err error) {
	if c == nil || len(c.AcceptedOutputModes) == 0 {
		return false, nil
	}
	accepts := func(media string) bool { return matches(media, c.AcceptedOutputModes) }
	if !slices.ContainsFunc(s.out, accepts) {
		return false, faultf(a2a.ErrUnsupportedContentType, "skill %s gives %s, and none of it is accepted", s.id, strings.Join(s.out, ", "))
	}
	return !accepts(mediaJSON) && accepts(mediaText) && slices.Contains(s.out, mediaText), nil
}
