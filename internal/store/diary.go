package store

import (
	"database/sql"
	"encoding/json"

	"github.com/hotcell/hotcell/internal/control"
)

// Note journals how far a call is, some time soon.
func (s *Store) Note(call control.Call) {
	const length = 1 << 10 // of most calls, as they are kept: they are written as JSON when there is time
	s.tell(length, func(tx *sql.Tx) error {
		view, err := encode(call)
		if err == nil {
			_, err = tx.Stmt(s.stmts.note).Exec(view, call.ID)
		}
		return err
	})
}

// Say journals an event of a call, some time soon, unless events are not kept or too many wait. event is JSON on one line.
func (s *Store) Say(call string, seq int, artifact bool, event json.RawMessage) {
	if artifact && s.keep.Artifacts == 0 || !artifact && s.keep.Events == 0 {
		return
	}
	s.queue.put(&op{
		said: &words{call: call, first: seq, last: seq, artifact: artifact, at: s.now().UnixMicro(), data: event},
		size: len(event) + opOverhead, late: true,
	})
}

// words are events of one call that follow one another, one a line.
type words struct {
	call        string
	first, last int
	artifact    bool
	at          int64
	data        []byte
}

const rowBytes = 64 << 10 // of events that share a row

// add puts the next event behind the others, and reports whether it could.
func (w *words) add(next *words) bool {
	if next.first != w.last+1 || len(w.data)+len(next.data) >= rowBytes {
		return false
	}
	if w.first == w.last { // the first one's bytes are the caller's
		w.data = append(make([]byte, 0, 2*len(w.data)+len(next.data)), w.data...)
	}
	w.data = append(append(w.data, '\n'), next.data...)
	w.last = next.last
	return true
}

// pack puts events of one call into rows together, which costs a tenth of a row for each. What else there is goes first.
func (s *Store) pack(late []*op) []*op {
	type voice struct {
		call     string
		artifact bool
	}
	var rows []*words
	var packed []*op
	open := map[voice]*words{}
	for _, o := range late {
		if o.said == nil {
			packed = append(packed, o)
			continue
		}
		v := voice{o.said.call, o.said.artifact}
		if row := open[v]; row != nil && row.add(o.said) {
			continue
		}
		row := *o.said
		open[v] = &row
		rows = append(rows, &row)
	}
	for _, row := range rows {
		packed = append(packed, &op{late: true, do: func(tx *sql.Tx) error {
			_, err := tx.Stmt(s.stmts.say).Exec(row.first, row.last, row.artifact, row.at, row.data, row.call)
			return err
		}})
	}
	return packed
}
