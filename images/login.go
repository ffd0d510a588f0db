package images

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

// Login is what a registry wants to see. It prints as nothing.
type Login struct {
	User     string
	Password string
}

// String hides the login.
func (Login) String() string { return "[redacted]" }

// GoString hides the login.
func (Login) GoString() string { return "[redacted]" }

// LogValue hides the login.
func (Login) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// minHidden is how long what is hidden must be: what is shorter is in every text.
const minHidden = 4

// Hide takes the login out of a text, in the forms that it is sent in: registries may repeat what they are shown.
func (l *Login) Hide(text string) string {
	if l == nil {
		return text
	}
	both := []byte(l.User + ":" + l.Password)
	for _, s := range []string{
		base64.StdEncoding.EncodeToString(both), base64.RawStdEncoding.EncodeToString(both),
		base64.URLEncoding.EncodeToString(both), base64.RawURLEncoding.EncodeToString(both),
		strconv.Quote(l.Password), url.QueryEscape(l.Password), url.PathEscape(l.Password), l.Password,
	} {
		if len(s) >= minHidden {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}

// Logins finds the login for a registry, "docker.io" or "registry.example:5000". It returns nil where there is none.
type Logins func(registry string) (*Login, error)

// ParseLogin reads "USER:PASSWORD". The error does not repeat it.
func ParseLogin(text []byte) (*Login, error) {
	user, password, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(user) == 0 || len(password) == 0 || bytes.ContainsAny(text, "\r\n\x00") {
		return nil, errors.New("expected USER:PASSWORD on one line")
	}
	return &Login{User: string(user), Password: string(password)}, nil
}
