package rest

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
)

// The bounds of the files of one call, beside that of its body.
const (
	maxInputs    = 1000
	maxInputPath = 512 // bytes
)

// inputsOf reads the files of a call: an object of contents in base64, by path.
func inputsOf(raw json.RawMessage) (fs.FS, *a2e.Error) {
	var files map[string]*string
	if json.Unmarshal(raw, &files) != nil {
		return nil, badFiles("expected an object of contents in base64, by path")
	}
	if len(files) > maxInputs {
		return nil, badFiles("expected at most 1000 files: hand in an archive instead")
	}
	var packed bytes.Buffer // an archive in memory is a file system, too
	z := zip.NewWriter(&packed)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !inputPath(path) {
			return nil, badFiles("%q is no path of a file: expected relative, with /, without . and .., at most 512 bytes", clip(path, 80))
		}
		for dir := range files {
			if strings.HasPrefix(path, dir+"/") {
				return nil, badFiles("%q is a file, and %q lies below it", clip(dir, 80), clip(path, 80))
			}
		}
		content, err := decodeBase64(files[path])
		if err != nil {
			return nil, badFiles("%q: expected base64", clip(path, 80))
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			return nil, a2e.AsError(err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, a2e.AsError(err)
	}
	all, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, a2e.AsError(err)
	}
	return all, nil
}

func badFiles(format string, args ...any) *a2e.Error {
	return a2e.Errorf(a2e.SchemaViolation, "files: "+format, args...).With("field", "files")
}

// inputPath reports whether a file may be named so: what fs says, and nothing that a file system or a terminal trips over.
func inputPath(path string) bool {
	return fs.ValidPath(path) && path != "." && len(path) <= maxInputPath && !strings.ContainsFunc(path, func(r rune) bool {
		return r < 0x20 || r == 0x7f || r == '\\'
	})
}

func decodeBase64(s *string) ([]byte, error) {
	if s == nil {
		return nil, base64.CorruptInputError(0)
	}
	return base64.StdEncoding.DecodeString(*s)
}
