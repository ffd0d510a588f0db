package images

import "testing"

// No form of a login that a registry could repeat is left in a text.
func TestLoginsAreHidden(t *testing.T) {
	l := &Login{User: "me", Password: `a/b "c"+d`}
	for text, want := range map[string]string{
		"nothing of it": "nothing of it",
		`you sent Basic bWU6YS9iICJjIitk, or a/b "c"+d`: "you sent Basic [redacted], or [redacted]",
		"?p=a%2Fb+%22c%22%2Bd&x":                        "?p=[redacted]&x",
		`quoted "a/b \"c\"+d"`:                          "quoted [redacted]",
	} {
		if got := l.Hide(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := (*Login)(nil).Hide("all"); got != "all" {
		t.Errorf("without a login: %q", got)
	}
}
