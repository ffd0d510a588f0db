package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on a request's body.
const (
	maxBody  = 8 << 20 // bytes
	maxDepth = 64
	// largeBody is what many bodies may have that are parsed at once.
	largeBody = 256 << 10
	maxItems  = 512 << 10 // keys and values, of which each costs memory
	maxModel  = 128       // bytes of a model's name
)

// request is the body of a request: what was checked, and nothing else is what goes to the provider.
type request struct {
	fields    map[string]json.RawMessage
	model     string
	stream    bool
	output    int64 // most tokens that come out; 0: the request sets no bound
	size      int   // bytes
	addsUsage bool  // the provider is asked for usage that the cell didn't ask for
}

// readBody reads a bounded body.
func readBody(r io.Reader) ([]byte, *refusal) {
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case err != nil:
		return nil, reject("body", "the body broke off")
	case len(data) > maxBody:
		return nil, &refusal{status: 413, reason: "body", why: fmt.Sprintf("the body is larger than %d MiB", maxBody>>20)}
	}
	return data, nil
}

// parseRequest reads a body. Duplicate keys are refused, wherever they are: the provider might take the other one.
func parseRequest(data []byte, rt *route) (*request, *refusal) {
	if err := strict(data); err != nil {
		return nil, reject("body", "the body: %s", err)
	}
	q := &request{size: len(data)}
	if err := json.Unmarshal(data, &q.fields); err != nil || q.fields == nil {
		return nil, reject("body", "the body: expected a JSON object")
	}
	for key := range q.fields {
		if near := lookalike(key); near != "" {
			return nil, reject("body", "the body: %q is too much like %q", clip(key), near)
		}
	}
	if err := q.read(rt); err != nil {
		return nil, reject("body", "the body: %s", err)
	}
	return q, nil
}

func (q *request) read(rt *route) error {
	if err := q.take("model", &q.model); err != nil || q.model == "" || len(q.model) > maxModel || strings.ContainsRune(q.model, utf8.RuneError) {
		return fmt.Errorf("model: expected a name of at most %d bytes", maxModel)
	}
	if err := q.take("stream", &q.stream); err != nil {
		return errors.New("stream: expected true or false")
	}
	n := int64(1)
	if rt.choices {
		if err := q.count("n", &n); err != nil {
			return err
		}
	}
	for _, key := range rt.outputs {
		var most int64
		if err := q.count(key, &most); err != nil {
			return err
		}
		q.output = max(q.output, most)
	}
	q.output *= max(n, 1)
	return q.refuseRemote(rt)
}

// take decodes a field that may be absent or null.
func (q *request) take(key string, to any) error {
	raw, ok := q.fields[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, to)
}

// maxCount is beyond what any model does, and far from an overflow when two are multiplied.
const maxCount = math.MaxInt32 / 2

func (q *request) count(key string, to *int64) error {
	raw, ok := q.fields[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return fmt.Errorf("%s: expected a whole number", key)
	}
	*to = n
	return nil
}

// checked are the keys that decide something here.
func checked() []string {
	return []string{
		"model", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "max_output_tokens", "background",
		"mcp_servers", "web_search_options", "tools",
	}
}

// lookalike finds a key that a careless reader would take for one that decides something.
func lookalike(key string) string {
	for _, known := range checked() {
		if key != known && strings.EqualFold(strings.TrimSpace(key), known) {
			return known
		}
	}
	return ""
}

// bytes is what goes to the provider. Streams of chats are asked for their usage, so that they count.
func (q *request) bytes(rt *route) ([]byte, *refusal) {
	if q.stream && rt.askUsage {
		options := map[string]json.RawMessage{}
		if err := q.take("stream_options", &options); err != nil {
			return nil, reject("body", "the body: stream_options: expected an object")
		}
		if options == nil {
			options = map[string]json.RawMessage{}
		}
		if string(options["include_usage"]) != "true" {
			q.addsUsage = true
			options["include_usage"] = json.RawMessage("true")
			q.fields["stream_options"] = marshal(options)
		}
	}
	return marshal(q.fields), nil
}

// marshal writes what was read as JSON before: that cannot fail.
func marshal(fields map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(fields) // texts and values that were checked
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// strict checks that data is one JSON value with no key twice in any object, in UTF-8, and not nested too deeply.
func strict(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("expected UTF-8")
	}
	w := walker{Decoder: json.NewDecoder(bytes.NewReader(data))}
	w.UseNumber()
	if err := w.value(0); err != nil {
		return err
	}
	if _, err := w.Token(); err != io.EOF {
		return errors.New("expected one JSON value")
	}
	return nil
}

// walker reads JSON token by token.
type walker struct {
	*json.Decoder
	items int
}

func (w *walker) next() (json.Token, error) {
	if w.items++; w.items > maxItems {
		return nil, fmt.Errorf("more than %d keys and values", maxItems)
	}
	t, err := w.Token()
	if err != nil {
		return nil, errors.New("expected JSON")
	}
	return t, nil
}

func (w *walker) value(depth int) error {
	t, err := w.next()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	keys := map[string]bool{}
	for w.More() {
		if open == '{' {
			k, err := w.next()
			if err != nil {
				return err
			}
			name, ok := k.(string)
			if !ok || keys[name] {
				return fmt.Errorf("the key %q is there twice", clip(name))
			}
			keys[name] = true
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
	}
	_, err = w.next() // the closing bracket
	return err
}
