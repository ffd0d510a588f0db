package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/hotcell/hotcell/internal/auth"
)

const (
	envTokenFile = "HOTCELL_TOKEN_FILE" // holds a token for the daemon
	maxTokenFile = 16 << 10             // bytes
)

// token reads the token of a file, or else of the one that the environment names, or returns none. It is in a file, since
// arguments and variables of a process are seen by others.
func (a *app) token(path string) (auth.Secret, error) {
	named := "--token-file"
	if path == "" {
		path, named = a.getenv(envTokenFile), envTokenFile
	}
	if path == "" {
		return auth.Secret{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return auth.Secret{}, usagef("%s: %w", named, plainPathError(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return auth.Secret{}, usagef("%s: %w", named, plainPathError(err))
	}
	text := strings.TrimSpace(string(data))
	if text == "" || len(data) > maxTokenFile || strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		return auth.Secret{}, usagef("%s: %s: expected one token and nothing else", named, oneLine(path, 200))
	}
	return auth.NewSecret(text), nil
}
