package config

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/policies"
)

// Store says where calls are journalled, and how long they are kept.
type Store struct {
	URL  string // sqlite:///path, postgres://..., or a reference to such a URL; "": a file in the data folder
	Sync string // off, normal, full: what survives a loss of power
	Keep Keep
}

// Keep bounds what the journal holds. Events and Artifacts of 0 keep none.
type Keep struct {
	Calls     Age
	Events    Age
	Artifacts Age
	Requests  bool           // what calls were asked, as long as Events
	Max       policies.Bytes // of the journal's file; 0: no bound
}

// Audit bounds the record of how calls ended and of what operators did.
type Audit struct {
	Key  string         // a reference to the key that seals it; "": audit.key beside the journal's file
	Keep Age            // 0: for ever
	Max  policies.Bytes // 0: no bound
}

const (
	leastAudit    = Day                     // of audit.keep
	leastAuditMax = policies.Bytes(1) << 20 // of audit.max

	sqliteURL = "sqlite://"
	leastKept = Age(3600e9)              // of calls, so that a request sent again finds its answer
	leastMax  = policies.Bytes(16) << 20 // of store.keep.max
)

// JournalPath is the file that calls are journalled in; "": they are in a database, or it is not known before a reference
// is resolved.
func (c *Config) JournalPath() string {
	if path, ok := strings.CutPrefix(c.Store.URL, sqliteURL); ok {
		return filepath.Clean(path) // two slashes at its start would name a host
	}
	if c.Store.URL != "" {
		return ""
	}
	return filepath.Join(c.DataDir, "hotcell.db")
}

// Journal names the place for people. It holds no secret: a URL that is written in the configuration has no password.
func (c *Config) Journal() string { return cmp.Or(c.JournalPath(), c.Store.URL) }

func (c *Config) storeFaults(v *faults) {
	v.add("store.url", checkStore(c.Store.URL))
	if c.Audit.Key != "" {
		v.add("audit.key", checkReference(c.Audit.Key))
	}
	v.add("store.sync", oneOf(c.Store.Sync, []string{"off", "normal", "full"}))
	if c.Store.Keep.Calls < leastKept {
		v.add("store.keep.calls", fmt.Sprintf("expected at least 1h, not %s: a request that is sent again must find its answer", c.Store.Keep.Calls))
	}
	if m := c.Store.Keep.Max; m != 0 && m < leastMax {
		v.add("store.keep.max", fmt.Sprintf("expected at least %s, or 0 for no bound, not %s", leastMax, m))
	}
	if k := c.Audit.Keep; k != 0 && k < leastAudit {
		v.add("audit.keep", fmt.Sprintf("expected at least %s, or 0 for ever, not %s", leastAudit, k))
	}
	if m := c.Audit.Max; m != 0 && m < leastAuditMax {
		v.add("audit.max", fmt.Sprintf("expected at least %s, or 0 for no bound, not %s", leastAuditMax, m))
	}
}

const expectedStore = "expected sqlite:///path/of/a/file, postgres://USER@HOST/DATABASE, a reference to such a URL (env:NAME, file:/PATH, stored:NAME), or nothing for a file in data_dir"

// checkStore takes what names a file for SQLite, a database of Postgres, or where such a URL is. It never repeats what it checks.
func checkStore(text string) string {
	path, isSQLite := strings.CutPrefix(text, sqliteURL)
	switch {
	case text == "" || credentials.Check(text) == nil:
		return ""
	case IsPostgres(text):
		return checkPostgres(text)
	case !isSQLite || !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return expectedStore
	}
	return ""
}

// IsPostgres reports whether a URL names a database of Postgres.
func IsPostgres(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// checkPostgres refuses a password: a configuration is shown, and kept where secrets are not.
func checkPostgres(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return expectedStore
	}
	_, has := u.User.Password()
	if q := u.Query(); has || q.Has("password") || q.Has("sslpassword") {
		return "there is a password in it: put the whole URL into a file or a variable, and write file:/PATH or env:NAME here"
	}
	return ""
}
