package runner

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
)

// The budgets that a skill can exceed here, as exit lines name them.
const (
	overOutput = "output" // plain output
	overResult = "result" // the result line
	overOut    = "out"    // artifacts
)

// talk is what the skill's process says: events and one result pass through, all else becomes log events.
type talk struct {
	say    *voice
	limit  int           // bytes of a result line and of plain output
	result chan struct{} // closed by the first result
	tail   tail          // of stderr

	// Of stdout's goroutine until it has ended.
	plain     plain
	hasResult bool
	warned    bool   // a malformed frame has been explained
	malformed error  // what was wrong with the first line that meant to be a result
	over      string // the budget that was exceeded
}

func newTalk(say *voice, limit int64) *talk {
	return &talk{say: say, limit: int(limit), result: make(chan struct{}), plain: plain{limit: int(limit)}}
}

// readStdout reads the process's stdout to its end. Plain output may have its whole budget in one line.
func (t *talk) readStdout(r io.Reader) {
	longest := max(wall.MaxLine, t.limit)
	lines := wall.NewReader(r, longest, longest)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		if line.Cut && line.Type == wall.TypeResult && !t.hasResult {
			t.tooLong()
		}
		if line.Cut || !t.frame(line.Bytes) {
			t.text(line)
		}
	}
}

// frame handles a line that is a frame, and reports false for any other.
func (t *talk) frame(b []byte) bool {
	line := wall.Parse(b)
	kind := line.Type()
	if kind == "" { // no object, or one that cannot be read
		kind = wall.ClaimOf(b)
	}
	switch kind {
	case wall.TypeEvent:
		e, _, err := line.Event()
		if err == nil && len(b) > wall.MaxLine {
			err = errors.New("it is longer than 1 MiB")
		}
		if err != nil {
			t.explain(kind, err)
			return false
		}
		t.say.encode(e)
		return true
	case wall.TypeResult:
		return t.terminal(b)
	}
	return false
}

// terminal handles a line that says it is a result. The first one passes; the supervisor reads it again.
func (t *talk) terminal(b []byte) bool {
	if t.hasResult {
		t.say.log(levelWarn, "the skill printed another result, which was ignored: the first one stands")
		return true
	}
	r, err := wall.DecodeResult(b)
	if err == nil && len(b) > t.limit {
		t.tooLong()
		return false
	}
	if err != nil {
		if t.malformed == nil {
			t.malformed = err
		}
		t.explain(wall.TypeResult, err)
		return false
	}
	t.say.encode(r) // its type comes first now, by which a long line is known
	t.hasResult = true
	close(t.result)
	return true
}

// lastResort is the result of a skill that ended well without a valid one: its plain output, unless it tried to say
// something else and failed at it.
func (t *talk) lastResort() wall.Result {
	if t.malformed == nil {
		return t.plain.result()
	}
	no := false
	return wall.Result{
		Type: wall.TypeResult, Success: &no, Error: "the skill printed a malformed skill/result: " + t.malformed.Error(), ErrorCode: "malformed_result",
	}
}

// tooLong notes that the result does not fit.
func (t *talk) tooLong() {
	t.over = overResult
	t.explain(wall.TypeResult, errors.New("it is longer than limits.output"))
}

// explain tells the skill's author, once, why a line that looks like a frame was taken as text.
func (t *talk) explain(kind string, why error) {
	if !t.warned {
		t.warned = true
		t.say.log(levelWarn, "a line of type "+kind+" was taken as text: "+why.Error())
	}
}

// text handles a plain line of stdout.
func (t *talk) text(line wall.Line) {
	if !t.plain.add(line) && t.over == "" {
		t.over = overOutput
	}
	if s := message(line); s != "" {
		t.say.log(levelInfo, s)
	}
}

// readStderr reads the process's stderr to its end.
func (t *talk) readStderr(r io.Reader) {
	lines := wall.NewReader(r, maxMessage, maxMessage)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		s := message(line)
		t.tail.add(s)
		if s != "" {
			t.say.log(levelError, s)
		}
	}
}

// message is the text of a line for a log event.
func message(line wall.Line) string {
	b, dropped := bytes.TrimSuffix(line.Bytes, []byte("\r")), line.Dropped
	if n := len(b) - maxMessage; n > 0 {
		b, dropped = b[:maxMessage], dropped+int64(n)
	}
	s := strings.ToValidUTF8(string(b), "")
	if dropped > 0 {
		s += cutMark(dropped)
	}
	return s
}
