package install

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
)

func newGzip(w io.Writer) *gzip.Writer {
	z, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		panic(err)
	}
	return z
}

// Whatever is in an archive, it is taken whole or refused with a reason, and nothing but plain files comes of it.
func fuzzed(t *testing.T, kind string, data []byte) {
	a := archive{bytes.NewReader(data), kind, int64(len(data))}
	c, err := a.check(context.Background(), false)
	if err == nil {
		var root string
		if root, err = c.root(""); err == nil {
			err = unpacked(t, a, c, root)
		}
	}
	var told *catalog.Error
	if err != nil && !errors.As(err, &told) {
		t.Fatalf("not told: %v", err)
	}
}

func unpacked(t *testing.T, a archive, c *checked, root string) error {
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := a.unpack(context.Background(), root, dir); err != nil {
		t.Fatalf("it was checked, and can't be unpacked: %v", err)
	}
	files, bytes := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if m := info.Mode(); m != 0o644 && m != 0o755 {
			t.Errorf("%s has the mode %s", path, m)
		}
		files, bytes = files+1, bytes+info.Size()
		return nil
	})
	if err != nil || files == 0 || files > c.files || bytes > c.bytes {
		t.Fatalf("%v: %d files of %d, %d bytes of %d", err, files, c.files, bytes, c.bytes)
	}
	return nil
}

func FuzzZip(f *testing.F) {
	for _, tt := range hostile() {
		if len(tt.files) < 100 {
			f.Add(zipped(f, tt.files))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, Zip, data) })
}

// The tar file is fuzzed, not its compression.
func FuzzTar(f *testing.F) {
	for _, tt := range hostile() {
		if len(tt.files) > 100 {
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(tarred(f, tt.files)))
		must(f, err)
		data, err := io.ReadAll(r)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		w := newGzip(&b)
		_, err := w.Write(data)
		must(t, err)
		must(t, w.Close())
		fuzzed(t, TarGz, b.Bytes())
	})
}
