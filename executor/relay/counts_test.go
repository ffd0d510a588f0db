package relay

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

func TestCounts(t *testing.T) {
	const event = `{"type":"skill/event","kind":"log","data":{"message":"hello"}}`
	for name, tt := range map[string]struct {
		out    []string
		budget int64
		want   Counts
	}{
		"nothing":           {nil, 4 << 20, Counts{}},
		"events":            {[]string{event, "plain"}, 4 << 20, Counts{Events: 2, Bytes: int64(len(event) + 5)}},
		"a line too long":   {[]string{strings.Repeat("x", wall.MaxLine+1)}, 4 << 20, Counts{Events: 1, Bytes: wall.MaxLine + 1, Truncated: 1}},
		"beyond the budget": {[]string{strings.Repeat("x", 2000), event, event}, 1000, Counts{Bytes: int64(2000 + 2*len(event)), Dropped: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{ReqID: "r", Output: tt.budget, Out: 1 << 20})
			r.Read(strings.NewReader(strings.Join(append(tt.out, ""), "\n")))
			r.Close()
			if got := r.Count(); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
