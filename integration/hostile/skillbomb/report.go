package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// report tells what came of an attack's tries.
type report struct {
	Tried   map[string]string `json:"tried"`
	Through []string          `json:"through"`
}

func newReport() *report { return &report{Tried: map[string]string{}, Through: []string{}} }

// refused notes a try that must fail.
func (r *report) refused(name string, err error) {
	r.Tried[name] = word(err)
	if err == nil {
		r.Through = append(r.Through, name)
	}
}

// refusedWith notes a try that must fail with one of the errors: any other one means that it was not the control in
// question that stopped it.
func (r *report) refusedWith(name string, err error, with ...syscall.Errno) {
	r.Tried[name] = word(err)
	for _, e := range with {
		if errors.Is(err, e) {
			return
		}
	}
	r.Through = append(r.Through, name)
}

// works notes a try that must succeed.
func (r *report) works(name string, err error) {
	r.Tried[name] = word(err)
	if err != nil {
		r.Through = append(r.Through, name)
	}
}

// holds notes a fact that must be true.
func (r *report) holds(name string, fact bool, format string, args ...any) {
	r.Tried[name] = fmt.Sprintf(format, args...)
	if !fact {
		r.Through = append(r.Through, name)
	}
}

// send makes the report the skill's result.
func (r *report) send() { result(r) }

// result prints a successful result.
func result(data any) {
	line(map[string]any{"type": "skill/result", "success": true, "data": data})
}

// say prints a log event; facts may be nil.
func say(message string, facts any) {
	data := map[string]any{"level": "info", "message": message}
	if facts != nil {
		data["facts"] = facts
	}
	line(map[string]any{"type": "skill/event", "kind": "log", "data": data})
}

func line(v any) {
	b, err := json.Marshal(v)
	must(err)
	_, err = os.Stdout.Write(append(b, '\n'))
	must(err)
}

// word is a short name of how a try ended.
func word(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &errno) && errno == 0:
		return "done"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}
