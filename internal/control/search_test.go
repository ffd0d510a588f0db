package control

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
)

// A cursor is its place and no other, and what is none is said to be none.
func TestCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Place{rapid.Int64().Draw(t, "at"), rapid.StringMatching(`[0-9A-Za-z.-]{1,64}`).Draw(t, "id")}
		cursor := p.Cursor()
		if got, err := PlaceOf(cursor); err != nil || got != p {
			t.Fatalf("%+v became %+v, %v", p, got, err)
		}
		if strings.Trim(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("%q has to be escaped in a URL", cursor)
		}
		other := rapid.String().Draw(t, "other")
		if got, err := PlaceOf(other); err == nil && got.Cursor() != other || err != nil && !errors.Is(err, ErrCursor) {
			t.Fatalf("%q became %+v, %v", other, got, err)
		}
	})
}

// Each call has one verdict, and each verdict means the calls that have it; failed means those that have a code.
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		call Call
		want string
	}{
		{Call{State: Queued}, VerdictRunning}, {Call{State: Stopping}, VerdictRunning}, {Call{State: Succeeded}, VerdictSucceeded},
		{Call{State: Canceled, Code: a2e.RuntimeError}, VerdictCanceled}, {Call{State: Failed, Code: a2e.Timeout}, "timeout"},
		{Call{State: Failed, Code: a2e.RuntimeError}, "runtime_error"},
	} {
		if got := tt.call.Verdict(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.call, got, tt.want)
		}
		for _, v := range []string{VerdictRunning, VerdictSucceeded, VerdictCanceled, "timeout", "runtime_error"} {
			if q := (CallQuery{Verdict: v}); q.Matches(&tt.call) != (v == tt.want) || q.Check() != nil {
				t.Errorf("%s means %+v: %t", v, tt.call, q.Matches(&tt.call))
			}
		}
		if q := (CallQuery{Verdict: VerdictFailed}); q.Matches(&tt.call) != (tt.call.State == Failed) {
			t.Errorf("failed means %+v: %t", tt.call, q.Matches(&tt.call))
		}
	}
}

// Since is included, until is not, by the microsecond.
func TestWithin(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_901_999, time.UTC)
	for _, tt := range []struct {
		q    CallQuery
		want bool
	}{
		{CallQuery{Since: at}, true}, {CallQuery{Since: at.Add(time.Microsecond)}, false}, {CallQuery{Until: at}, false},
		{CallQuery{Until: at.Add(time.Microsecond)}, true}, {CallQuery{Since: at.Truncate(time.Microsecond)}, true},
	} {
		if got := tt.q.Matches(&Call{Accepted: at}); got != tt.want {
			t.Errorf("%+v: %t", tt.q, got)
		}
	}
}
