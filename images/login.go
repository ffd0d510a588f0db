package images

import (
	"bytes"
	"errors"
	"log/slog"
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
