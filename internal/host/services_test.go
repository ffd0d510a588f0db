package host

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
)

// Why a credential can't be read is in the log, once, and callers hear nothing of the host's files.
func TestKeysForCallers(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default(false, dir, dir)
	var log bytes.Buffer
	k := keysOf(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	path := filepath.Join(dir, "key")
	lookAt := func(want string) {
		t.Helper()
		for range 3 {
			value, err := k.Resolve("file:" + path)
			if said := string(value); err != nil {
				said = err.Error()
				if said != want || strings.Contains(said, dir) {
					t.Errorf("got %q", said)
				}
			} else if said != want {
				t.Errorf("got %q", said)
			}
		}
	}
	const gone = "the file that it is kept in can't be used: hotcell's log says why"
	lookAt(gone)
	if err := os.WriteFile(path, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookAt("sesame")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lookAt(gone)
	if n := strings.Count(log.String(), path+": no such file"); n != 2 || strings.Contains(log.String(), "sesame") {
		t.Errorf("%d times in the log: %s", n, &log)
	}
}
