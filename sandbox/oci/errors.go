package oci

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
)

var (
	errNotStarted = errors.New("cell has not started")
	errStarted    = errors.New("cell was started before")
	errDestroyed  = errors.New("cell is destroyed")
	errInUse      = errors.New("a cell uses it")
)

// unsupported names what a spec asks for and this driver does not do.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sandbox.ErrUnsupported)
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sandbox.ErrUnavailable)
}

// startError reads a runtime's words: its status tells nothing.
func startError(text string) *sandbox.StartError {
	e := &sandbox.StartError{Message: oneLine(text), OOM: strings.Contains(text, "OOM-killed")}
	text = strings.ToLower(text) // crun speaks as the C library does
	switch {
	case contains(text, "permission denied", "is a directory", "not a directory", "exec format error"):
		e.ExitCode = 126
	case contains(text, "executable file not found", "no such file or directory"):
		e.ExitCode = 127
	}
	return e
}

func contains(text string, parts ...string) bool {
	for _, s := range parts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// oneLine is a text of bounded length without line feeds.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// complaint is the last error in a runtime's log, "" if there is none.
func complaint(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	last := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var entry struct{ Level, Msg string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && (entry.Level == "error" || entry.Level == "fatal") {
			last = entry.Msg
		}
	}
	return last
}
