package main

import (
	"context"
	"io"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// lostReader remembers that nobody reads our output any more, and ends the call then.
type lostReader struct {
	cancel context.CancelFunc
	err    error
}

func (l *lostReader) set(err error) {
	if l.err == nil {
		l.err = err
		l.cancel()
	}
}

// writer is where the events of a call go: to people, or as JSON.
func (a *app) writer(f runFlags, saved *artifacts, shown *recent, lost *lostReader) a2e.EventWriter {
	if !f.json {
		return &view{screen: a.errs, brief: !f.debug, artifacts: saved, errors: shown, lost: lost.set}
	}
	enc := a2e.NewEncoder(a.jsonOut())
	return a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		if ev.Kind == a2e.KindArtifact {
			saved.add(ev.Data)
		}
		err := enc.Encode(ev)
		if err != nil {
			lost.set(err)
		}
		return err
	})
}

// jsonOut is stdout for messages. On a terminal, what could steer it is written as \u escapes, which is the same JSON.
func (a *app) jsonOut() io.Writer {
	if !isTerminal(a.stdout) {
		return a.stdout
	}
	return safeWriter{a.stdout}
}

// safeWriter takes whole lines of JSON.
type safeWriter struct{ w io.Writer }

func (s safeWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.w, safeJSON(strings.ToValidUTF8(string(p), "\uFFFD"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
