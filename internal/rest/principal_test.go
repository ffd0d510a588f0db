package rest

import (
	"net/http/httptest"
	"net/url"
	"testing"
)

// A principal that is no number above 0 is none: what everybody's skills are is answered, and nothing is wrong.
func TestPrincipalsThatAreNone(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "-1": 0, "abc": 0, "1.5": 0, "1e3": 0, "9223372036854775808": 0, "7": 7} {
		got := &recorder{shopReader: shopReader{newShop()}, principal: -1}
		r := httptest.NewRequest("GET", "http://localhost/api/v1/skills/x/files/a?principal_id="+url.QueryEscape(text), nil)
		w := httptest.NewRecorder()
		New(Options{Control: &fake{}, Reader: got}).ServeHTTP(w, r)
		if got.principal != want || w.Code != 200 {
			t.Errorf("%q: %d, want %d; %d %s", text, got.principal, want, w.Code, w.Body)
		}
	}
}
