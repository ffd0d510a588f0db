package wall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxKind  = 64   // bytes of an event's kind
	maxText  = 4096 // bytes of the texts in an exit line
	maxName  = 64   // bytes of a secret's name
	maxPath  = 1024 // bytes of a path
	maxDepth = 32   // elements of a path
	maxElem  = 255  // bytes of one element
)

// DecodeReady reads a ready line. The caller compares the protocol.
func DecodeReady(line []byte) (Ready, error) {
	o, err := parseLine(line, TypeReady)
	r := Ready{Type: TypeReady}
	err = errors.Join(err, need(o, "protocol", "an integer", &r.Protocol))
	return r, oneLine(err)
}

// DecodeFile reads a file line and checks its path ([CheckPath]) and its size.
func DecodeFile(line []byte) (File, error) {
	o, err := parseLine(line, TypeFile)
	if err != nil {
		return File{}, err
	}
	f := File{Type: TypeFile}
	err = errors.Join(
		need(o, "path", "a string", &f.Path),
		optional(o, "mode", "permission bits", &f.Mode),
		optional(o, "data", "base64", &f.Data),
		optional(o, "final", "true or false", &f.Final),
	)
	switch {
	case err != nil:
		return File{}, oneLine(err)
	case len(f.Data) > FileChunk:
		return File{}, fmt.Errorf("data: %d bytes, at most %d are allowed", len(f.Data), FileChunk)
	}
	if err := CheckPath(f.Path); err != nil {
		return File{}, fmt.Errorf("path: %w", err)
	}
	return f, nil
}

// DecodeEvent reads an event line. Its data is an object and aliases line; a line without data has an empty one.
func DecodeEvent(line []byte) (Event, error) {
	e, _, err := Parse(line).Event()
	return e, err
}

// DecodeResult reads a result line. "success" must be there.
func DecodeResult(line []byte) (Result, error) {
	o, err := parseLine(line, TypeResult)
	if err != nil {
		return Result{}, err
	}
	r := Result{Type: TypeResult}
	err = errors.Join(
		need(o, "success", "true or false", &r.Success),
		optional(o, "truncated", "true or false", &r.Truncated),
		optional(o, "error", "a string", &r.Error),
		optional(o, "error_code", "a string", &r.ErrorCode),
		optional(o, "retryable", "true or false", &r.Retryable),
	)
	if err != nil {
		return Result{}, oneLine(err)
	}
	r.Data, r.Summary = bytes.Clone(o.get("data")), bytes.Clone(o.get("summary"))
	return r, nil
}

// DecodeExit reads an exit line and checks its ranges.
func DecodeExit(line []byte) (Exit, error) {
	o, err := parseLine(line, TypeExit)
	if err != nil {
		return Exit{}, err
	}
	e := Exit{Type: TypeExit}
	const number = "an integer"
	err = errors.Join(
		need(o, "exit_code", number, &e.ExitCode),
		optional(o, "signal", number, &e.Signal),
		optional(o, "start_error", "a string", &e.StartError),
		optional(o, "stderr_tail", "a string", &e.StderrTail),
		optional(o, "user_ms", number, &e.UserMS),
		optional(o, "system_ms", number, &e.SystemMS),
		optional(o, "max_rss_kb", number, &e.MaxRSSKB),
		need(o, "oom_kills", number, &e.OOMKills),
		optional(o, "cancelled", "true or false", &e.Cancelled),
		optional(o, "output_over", "a string", &e.OutputOver),
		optional(o, "bad_image", "true or false", &e.BadImage),
	)
	if err != nil {
		return Exit{}, oneLine(err)
	}
	if err := e.check(); err != nil {
		return Exit{}, err
	}
	return e, nil
}

func (e Exit) check() error {
	switch {
	case e.ExitCode < 0 || e.ExitCode > 255:
		return errors.New("exit_code: expected 0 to 255")
	case e.Signal < 0 || e.Signal > 64:
		return errors.New("signal: expected 0 to 64")
	case e.OOMKills < -1:
		return errors.New("oom_kills: expected -1 or more")
	case e.UserMS < 0 || e.SystemMS < 0 || e.MaxRSSKB < 0:
		return errors.New("user_ms, system_ms and max_rss_kb: expected 0 or more")
	case len(e.StartError) > maxText || len(e.StderrTail) > maxText || len(e.OutputOver) > maxKind:
		return fmt.Errorf("start_error and stderr_tail: at most %d bytes are allowed, output_over: %d", maxText, maxKind)
	}
	return nil
}

// CheckPath accepts the path of an input file: slash-separated and relative, without empty, "." and ".." elements and
// control characters, of at most 1,024 bytes and 32 elements.
func CheckPath(p string) error {
	switch {
	case p == "":
		return errors.New("is empty")
	case len(p) > maxPath:
		return fmt.Errorf("is longer than %d bytes", maxPath)
	case !utf8.ValidString(p):
		return fmt.Errorf("%q is not UTF-8", p)
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Errorf("%q holds a control character", p)
	}
	elems := strings.Split(p, "/")
	if len(elems) > maxDepth {
		return fmt.Errorf("%q is deeper than %d", p, maxDepth)
	}
	for _, e := range elems {
		if e == "" || e == "." || e == ".." || len(e) > maxElem {
			return fmt.Errorf("%q is not a plain relative path: it has the element %q", p, e)
		}
	}
	return nil
}

func parseLine(line []byte, want string) (object, error) { return Parse(line).as(want) }

func need(o object, key, want string, dst any) error {
	if o.get(key) == nil {
		return fmt.Errorf("%s: missing, expected %s", key, want)
	}
	return optional(o, key, want, dst)
}

func optional(o object, key, want string, dst any) error {
	raw := o.get(key)
	if raw == nil {
		return nil
	}
	if text, ok := dst.(*string); ok && raw[0] == '"' {
		*text = known(raw)
		return nil
	}
	if json.Unmarshal(raw, dst) != nil {
		return fmt.Errorf("%s: expected %s", key, want)
	}
	return nil
}

// oneLine keeps the first of several joined errors.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}
