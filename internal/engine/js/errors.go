package js

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
	"github.com/hotcell/hotcell/internal/engine"
)

// explained gives an exception the words of what was thrown. Other errors stay as they are.
func (s *script) explained(err error) error {
	var ex *sobek.Exception
	if errors.As(err, &ex) && ex.Value() != nil {
		return s.thrown(ex.Value(), ex.Stack())
	}
	return err
}

// explain makes a failure of an error that no script threw.
func explain(err error) *engine.Failure {
	var (
		f           *engine.Failure
		interrupted *sobek.InterruptedError
		deep        *sobek.StackOverflowError
	)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &interrupted):
		return engine.Failf(engine.CodeCancelled, "the call was cancelled while the script ran%s", place(interrupted.Stack()))
	case errors.As(err, &deep):
		return engine.Failf(codeException, "RangeError: more than %d calls are nested%s", maxDepth, place(deep.Stack()))
	}
	return engine.Failf(codeException, "%s", tidy(engine.OneLine(err.Error(), 1024)))
}

// place is where the script was: the innermost frame that is its own.
func place(stack []sobek.StackFrame) string {
	for _, frame := range stack {
		if name := frame.SrcName(); name != "" && name != "<native>" && name != preludeName {
			p := frame.Position()
			return fmt.Sprintf(" at %s:%d:%d", name, p.Line, p.Column)
		}
	}
	return ""
}

// counter is what the runtime writes behind a position: of no use to anyone who has no bytecode.
var counter = regexp.MustCompile(`(:\d+:\d+)\(\d+\)`)

func tidy(text string) string { return counter.ReplaceAllString(text, "$1") }

var (
	position = regexp.MustCompile(`([^\s(]+:\d+:\d+)\)?$`)
	word     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// thrown says what a script threw and where. An error's own code and retryable go with it.
func (s *script) thrown(value sobek.Value, stack []sobek.StackFrame) (f *engine.Failure) {
	var ex *sobek.Exception
	if err, ok := exported[error](value); ok && errors.As(err, &ex) && ex.Value() != nil { // by a module's top level
		value, stack = ex.Value(), ex.Stack()
	}
	f = &engine.Failure{Code: codeException, Message: "the script threw something that can't be read"}
	defer func() { _ = recover() }() // an interrupt, or calls nested too deep, in the midst of it
	err := s.rt.Try(func() {         // what was thrown may have code of its own
		f.Message = engine.OneLine(value.String(), 2048)
		where := place(stack)
		o, ok := value.(*sobek.Object)
		if ok {
			if text := o.Get("stack"); text != nil && !sobek.IsUndefined(text) {
				trace := frames(text.String())
				if at := innermost(trace); at != "" {
					where = " at " + at
				}
				if trace != "" {
					s.voice.Log("error", f.Message+"\n"+trace)
				}
			}
			if code := o.Get("code"); code != nil && word.MatchString(code.String()) {
				f.Code = code.String()
			}
			if again := o.Get("retryable"); again != nil && refused(again) {
				f.Final = true
			}
		}
		f.Message += where
	})
	if err != nil {
		s.voice.Log("warning", "what the script threw threw itself while it was read")
	}
	return f
}

// refused reports whether a value is false itself.
func refused(value sobek.Value) bool {
	yes, ok := exported[bool](value)
	return ok && !yes
}

// frames are the lines of a stack that are the script's.
func frames(stack string) string {
	var lines []string
	for line := range strings.Lines(stack) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "\tat ") || strings.Contains(line, preludeName) || strings.Contains(line, "(native)") || line == "\tat native" {
			continue
		}
		lines = append(lines, tidy(line))
	}
	return strings.Join(lines, "\n")
}

func innermost(trace string) string {
	line, _, _ := strings.Cut(trace, "\n")
	if m := position.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// syntaxError says what does not parse, and where.
func syntaxError(err error) *engine.Failure {
	var (
		list parser.ErrorList
		bad  *sobek.CompilerSyntaxError
	)
	switch {
	case errors.As(err, &list) && len(list) > 0:
		p := list[0].Position
		return engine.Finalf(codeSyntax, "SyntaxError: %s at %s:%d:%d", engine.OneLine(list[0].Message, 300), p.Filename, p.Line, p.Column)
	case errors.As(err, &bad) && bad.File != nil:
		p := bad.File.Position(bad.Offset)
		return engine.Finalf(codeSyntax, "SyntaxError: %s at %s:%d:%d", engine.OneLine(bad.Message, 300), p.Filename, p.Line, p.Column)
	}
	return engine.Finalf(codeSyntax, "%s", engine.OneLine(err.Error(), 300))
}
