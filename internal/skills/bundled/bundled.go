package bundled

import (
	"embed"
	"io/fs"
)

//go:embed code-review data-profile time-arithmetic
var files embed.FS

// FS returns the bundles, one folder each.
func FS() fs.FS { return files }
