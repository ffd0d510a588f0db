package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A mount may take writes that carry nothing and say nothing of it; what carries something must always say what.
func TestWritesThatCarryNothing(t *testing.T) {
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := New(Options{Mounts: []Mount{
		{Patterns: []string{"POST /bare"}, Content: []string{"", "text/plain"}, Handler: done},
		{Patterns: []string{"POST /typed"}, Content: []string{"text/plain"}, Handler: done},
	}})
	for _, tt := range []struct {
		path, content, body string
		want                int
	}{
		{"/bare", "", "", http.StatusNoContent},
		{"/bare", "text/plain", "x", http.StatusNoContent},
		{"/bare", "", "x", http.StatusUnsupportedMediaType},
		{"/bare", "application/x-www-form-urlencoded", "", http.StatusUnsupportedMediaType},
		{"/typed", "", "", http.StatusUnsupportedMediaType},
		{"/typed", "text/plain", "", http.StatusNoContent},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+tt.path, strings.NewReader(tt.body))
		if tt.content != "" {
			r.Header.Set("Content-Type", tt.content)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != tt.want {
			t.Errorf("%+v: %d %s", tt, rec.Code, rec.Body)
		}
		if rec.Code == http.StatusUnsupportedMediaType && !strings.Contains(rec.Body.String(), "expected content type text/plain") {
			t.Errorf("%+v: %s", tt, rec.Body)
		}
	}
}
