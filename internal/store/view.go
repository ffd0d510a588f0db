package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// view is a call as it is kept.
type view struct {
	control.Call
	Account *control.Account `json:"account,omitempty"`
	Ran     string           `json:"ran,omitempty"` // digest of the policy's row
}

func encode(c control.Call) ([]byte, error) {
	if b, ok := encodeNew(&c); ok {
		return b, nil
	}
	return json.Marshal(view{Call: c, Account: c.Account})
}

// decode keeps numbers as they are written.
func decode(b []byte, c *control.Call) error {
	var v view
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("a call in the journal can't be read: %w", err)
	}
	*c = v.Call
	c.Account = v.Account
	return nil
}

// viewColumns are what a call is told from: all is in the view, and the rest is there for one that can't be read.
const viewColumns = "view, calls.id, req_id, principal, agent, accepted, ended"

// viewRow is a row of viewColumns.
type viewRow struct {
	view                        loose
	id, reqID, principal, agent loose
	accepted, ended             loose
}

func (r *viewRow) places() []any {
	return []any{&r.view, &r.id, &r.reqID, &r.principal, &r.agent, &r.accepted, &r.ended}
}

var errNoView = errors.New("a call in the journal can't be read: its view names no call")

// noteUnreadable is the note of a call that can't be read, which says why.
const noteUnreadable = "unreadable"

// call is the call of a row. One that can't be read is told as far as the columns go, as one that failed or still waits, with a note: it
// hides no other.
func (r *viewRow) call() (c control.Call) {
	err := decode(r.view.bytes(), &c)
	if err == nil && c.ID == "" {
		err = errNoView
	}
	if err == nil {
		return c
	}
	c = control.Call{
		ID: r.id.text(), ReqID: r.reqID.text(), Principal: r.principal.text(), Agent: r.agent.text(), State: control.Queued, Accepted: r.accepted.time(),
		Notes: map[string]any{noteUnreadable: err.Error()},
	}
	if ended := r.ended.time(); !ended.IsZero() {
		c.State, c.Ended, c.Code, c.Reason = control.Failed, ended, a2e.RuntimeError, a2e.ReasonInternal
	}
	return c
}

// loose is a value of any type: SQLite keeps what it is given.
type loose struct{ v any }

// Scan implements [sql.Scanner].
func (l *loose) Scan(v any) error {
	if b, ok := v.([]byte); ok {
		v = bytes.Clone(b) // the driver's own
	}
	l.v = v
	return nil
}

func (l *loose) bytes() []byte {
	switch v := l.v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func (l *loose) text() string {
	if s, ok := l.v.(string); ok {
		return s
	}
	return string(l.bytes())
}

// time is microseconds since the Unix epoch; zero for 0 and for what is no number.
func (l *loose) time() time.Time {
	if n, ok := l.v.(int64); ok && n != 0 {
		return time.UnixMicro(n)
	}
	return time.Time{}
}
