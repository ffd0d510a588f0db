package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hotcell/hotcell/policies"
)

// Store says where calls are journalled, and how long they are kept.
type Store struct {
	URL  string // sqlite:///path; "": a file in the data folder
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

// JournalPath is the file that calls are journalled in.
func (c *Config) JournalPath() string {
	if path, ok := strings.CutPrefix(c.Store.URL, sqliteURL); ok {
		return filepath.Clean(path) // two slashes at its start would name a host
	}
	return filepath.Join(c.DataDir, "hotcell.db")
}

func (c *Config) storeFaults(v *faults) {
	v.add("store.url", checkStore(c.Store.URL))
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

// checkStore takes what names a file for SQLite.
func checkStore(url string) string {
	scheme, _, isURL := strings.Cut(url, "://")
	path, isSQLite := strings.CutPrefix(url, sqliteURL)
	switch {
	case url == "":
		return ""
	case isURL && !isSQLite:
		return fmt.Sprintf("%q is not available in this version, expected sqlite:///path/of/a/file, or nothing for a file in data_dir", scheme)
	case !isSQLite || !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return "expected sqlite:///path/of/a/file, or nothing for a file in data_dir"
	}
	return ""
}
