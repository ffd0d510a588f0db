package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// discovering answers with one manifest and remembers what it was asked.
type discovering struct {
	a2e.Handler
	who   a2e.Caller
	asked *a2e.DiscoverRequest
}

func (d *discovering) Discover(_ context.Context, who a2e.Caller, req *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	d.who, d.asked = who, req
	return []a2e.Definition{{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}}, nil
}

func TestManifests(t *testing.T) {
	for query, want := range map[string]struct {
		status           int
		tags, categories []string
		agent            string
	}{
		"":                                    {status: http.StatusOK},
		"?tag=a&tag=b&category=c&agent_id=me": {http.StatusOK, []string{"a", "b"}, []string{"c"}, "me"},
		"?agent_id=a&agent_id=b":              {status: http.StatusBadRequest},
		"?agent_id=%0A":                       {status: http.StatusBadRequest},
		"?" + strings.Repeat("tag=a&", 101):   {status: http.StatusBadRequest},
	} {
		d := &discovering{}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/v1/skills"+query, nil)
		r.Host = "localhost"
		New(Options{Control: &fake{}, Handler: d}).ServeHTTP(w, r)
		if w.Code != want.status {
			t.Errorf("%q: status %d %s", query, w.Code, w.Body)
			continue
		}
		if want.status != http.StatusOK {
			if d.asked != nil {
				t.Errorf("%q was asked for", query)
			}
			continue
		}
		if diff := cmp.Diff([][]string{want.tags, want.categories}, [][]string{d.asked.FilterTags, d.asked.FilterCategories}); diff != "" || d.who.Agent != want.agent {
			t.Errorf("%q: agent %q (-want +got):\n%s", query, d.who.Agent, diff)
		}
		var got struct{ Skills []a2e.Definition }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Skills) != 1 || string(got.Skills[0].InputSchema) != `{"type":"object"}` {
			t.Errorf("%q: %s, %v", query, w.Body, err)
		}
	}
}
