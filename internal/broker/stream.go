package broker

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxEvent bounds one event of a stream.
const maxEvent = 4 << 20

var errLongEvent = errors.New("an event is too long")

// stream passes a stream of server-sent events on, each as soon as it is there.
func (x *exchange) stream(resp *http.Response) {
	x.head(resp)
	x.w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(x.w)
	_ = flush.Flush() // the cell sees that there is an answer
	out := &redactor{w: x.w, forms: x.forms}
	in := bufio.NewReaderSize(resp.Body, 32<<10)
	x.cut = true
	for {
		event, err := readEvent(in)
		if len(event) > 0 && !x.drops(event) {
			if refused := x.count(int64(len(event))); refused != nil {
				x.rec.reason = refused.reason
				_, _ = x.w.Write(refused.event(x.g.plan.to.Kind))
				return
			}
			x.looksLike += sizeOfEvent(event)
			if _, werr := out.Write(event); werr != nil {
				return // nobody listens any more
			}
			_ = flush.Flush() // the next write fails where this did
		}
		switch {
		case err == io.EOF:
			x.cut = false
			_ = out.flush()
			return
		case err != nil:
			x.abort = true // the cell must not take it for the end
			return
		}
	}
}

// envelope is what an event is long beside the text that it carries, about.
const envelope = 256

// sizeOfEvent guesses the tokens in an event: most carry one.
func sizeOfEvent(event []byte) int64 { return 1 + int64(max(0, len(event)-envelope))/bytesAToken }

// drops reads what an event says about usage, and reports whether it is one that the cell didn't ask for.
func (x *exchange) drops(event []byte) bool {
	data := payload(event)
	if string(data) == "[DONE]" {
		x.cut = false // some hang up here
	}
	r := readReport(data)
	if r == nil {
		return false
	}
	x.used.add(r, x.g.plan.to.Kind)
	return x.q.addsUsage && r.Usage != nil && r.Choices != nil && len(*r.Choices) == 0
}

// payload is the data of an event; most have one line of it.
func payload(event []byte) []byte {
	var data []byte
	for line := range bytes.Lines(event) {
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		data = append(data, bytes.TrimSpace(value)...)
	}
	return data
}

// readEvent reads up to the empty line that ends an event.
func readEvent(r *bufio.Reader) ([]byte, error) {
	var event []byte
	for start := true; ; {
		part, err := r.ReadSlice('\n')
		blank := start && len(bytes.TrimRight(part, "\r\n")) == 0
		event = append(event, part...)
		start = err == nil
		switch {
		case err != nil && err != bufio.ErrBufferFull:
			return event, err
		case len(event) > maxEvent:
			return nil, errLongEvent
		case err == nil && blank:
			return event, nil
		}
	}
}
