package layout

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayers: what trees come out of layers.
func TestLayers(t *testing.T) {
	dir := func(name string) file { return file{name: name, kind: tar.TypeDir, mode: 0o755} }
	link := func(name, to string) file { return file{name: name, kind: tar.TypeSymlink, link: to} }
	hard := func(name, to string) file { return file{name: name, kind: tar.TypeLink, link: to} }
	for name, tt := range map[string]struct {
		layers [][]file
		want   string
	}{
		"over another": {[][]file{{{name: "a", data: "1"}, dir("d"), {name: "d/x", data: "1"}}, {{name: "a", data: "2"}}},
			"a -rw-r--r-- 2\nd drwxr-xr-x\nd/x -rw-r--r-- 1\n"},
		"whiteout": {[][]file{{{name: "a", data: "1"}, {name: "d/x", data: "1"}, {name: "d/y", data: "1"}}, {{name: ".wh.a"}, {name: "d/.wh.x"}}},
			"d drwxr-xr-x\nd/y -rw-r--r-- 1\n"},
		"opaque, before and after": {[][]file{
			{{name: "d/x", data: "1"}, {name: "e/x", data: "1"}, {name: "e/s/o", data: "1"}},
			{{name: "d/.wh..wh..opq"}, {name: "d/n", data: "2"}, {name: "e/s/n", data: "2"}, {name: "e/.wh..wh..opq"}},
		}, "d drwxr-xr-x\nd/n -rw-r--r-- 2\ne drwxr-xr-x\ne/s drwxr-xr-x\ne/s/n -rw-r--r-- 2\n"},
		"file becomes folder and back": {[][]file{{{name: "a", data: "1"}, {name: "b/x", data: "1"}}, {dir("a"), {name: "b", data: "2"}}},
			"a drwxr-xr-x\nb -rw-r--r-- 2\n"},
		"no bit raises privileges, nobody but root writes": {[][]file{{{name: "a", mode: 0o6777}, {name: "d/", kind: tar.TypeDir, mode: 0o7777}}},
			"a -rwxr-xr-x \nd drwxr-xr-x\n"},
		"devices and pipes are left out": {[][]file{{{name: "c", kind: tar.TypeChar}, {name: "b", kind: tar.TypeBlock}, {name: "f", kind: tar.TypeFifo}, {name: "x"}}},
			"x -rw-r--r-- \n"},
		"names that climb stay inside": {[][]file{{{name: "../../a", data: "1"}, {name: "/b", data: "1"}, {name: "d/../../../c", data: "1"}}},
			"a -rw-r--r-- 1\nb -rw-r--r-- 1\nc -rw-r--r-- 1\n"},
		"through links, as a process within would go": {[][]file{{dir("usr/bin"), link("bin", "usr/bin"), link("abs", "/usr"), link("up", "../../../../usr")},
			{{name: "bin/x", data: "1"}, {name: "abs/y", data: "1"}, {name: "up/z", data: "1"}}},
			"abs -> /usr\nbin -> usr/bin\nup -> ../../../../usr\nusr drwxr-xr-x\nusr/bin drwxr-xr-x\nusr/bin/x -rw-r--r-- 1\nusr/y -rw-r--r-- 1\nusr/z -rw-r--r-- 1\n"},
		"a link is replaced, never written through": {[][]file{{link("a", "/etc/passwd")}, {{name: "a", data: "1"}}},
			"a -rw-r--r-- 1\n"},
		"a folder in the place of a link": {[][]file{{link("a", "/"), {name: "x", data: "1"}}, {dir("a"), {name: "a/y", data: "2"}}},
			"a drwxr-xr-x\na/y -rw-r--r-- 2\nx -rw-r--r-- 1\n"},
		"hard link": {[][]file{{{name: "a", data: "1"}, hard("d/b", "/a")}}, "a -rw-r--r-- 1\nd drwxr-xr-x\nd/b -rw-r--r-- 1\n"},
		"the whiteout of a folder made again": {[][]file{{{name: "d/old", data: "1"}}, {{name: "d/new", data: "2"}, {name: ".wh.d"}}},
			"d drwxr-xr-x\nd/new -rw-r--r-- 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var layers [][]byte
			for _, l := range tt.layers {
				layers = append(layers, tarOf(t, l...))
			}
			root, err := unpacked(t, newStore(t), layers...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, listing(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefused: what is no image, or a hostile one, leaves nothing.
func TestRefused(t *testing.T) {
	good := tarOf(t, file{name: "a", data: "1"})
	for name, tt := range map[string]struct {
		archive []byte
		bounds  Bounds
		want    string
	}{
		"nothing":    {nil, Bounds{}, "not an image archive"},
		"noise":      {bytes.Repeat([]byte("x"), 2000), Bounds{}, "not an image archive"},
		"other tar":  {tarOf(t, file{name: "x", data: "y"}), Bounds{}, "not an image archive"},
		"cut":        {saved(t, "a/b:1", config(t, good), good)[:2500], Bounds{}, "archive"},
		"no name":    {saved(t, "", config(t, good), good), Bounds{}, "--ref NAME"},
		"bad name":   {saved(t, "A B", config(t, good), good), Bounds{}, "expected a reference"},
		"swapped":    {saved(t, "a/b:1", config(t, good), tarOf(t, file{name: "evil"})), Bounds{}, "the archive is damaged"},
		"few layers": {saved(t, "a/b:1", config(t, good, good), good), Bounds{}, "has 1 layers"},
		"no config":  {saved(t, "a/b:1", []byte("{"), good), Bounds{}, "configuration"},
		"other machine": {saved(t, "a/b:1", []byte(`{"os":"windows","architecture":"amd64"}`)), Bounds{},
			`is for "windows"/"amd64"`},
		"large":      {saved(t, "a/b:1", config(t, good), good), Bounds{Bytes: 1000}, "larger than 1000 bytes"},
		"many files": {many(t), Bounds{Entries: 10}, "too many files"},
		"hard link out": {one(t, file{name: "a", kind: tar.TypeLink, link: "../../../../etc/passwd"}), Bounds{},
			"hard link to \"etc/passwd\""},
		"hard link to a folder": {one(t, file{name: "d/x"}, file{name: "a", kind: tar.TypeLink, link: "d"}), Bounds{}, "which is no file"},
		"hard link through a link": {one(t, file{name: "l", kind: tar.TypeSymlink, link: "/etc"}, file{name: "a", kind: tar.TypeLink, link: "l/passwd"}), Bounds{},
			"hard link to"},
		"link in a circle":        {one(t, file{name: "l", kind: tar.TypeSymlink, link: "l"}, file{name: "l/x"}), Bounds{}, "too many links"},
		"file as a folder":        {one(t, file{name: "a"}, file{name: "a/b"}), Bounds{}, "not a directory"},
		"whiteout of the parent":  {one(t, file{name: "d/.wh..."}), Bounds{}, "whiteout of nothing"},
		"long configuration":      {saved(t, "a/b:1", bytes.Repeat([]byte(" "), maxMeta+1), good), Bounds{}, "longer than"},
		"manifest names no layer": {tarOf(t, file{name: "manifest.json", data: `[{"Config":"../c","Layers":["../../x"]}]`}), Bounds{}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if tt.bounds.Bytes > 0 {
				s.bounds.Bytes = tt.bounds.Bytes
			}
			if tt.bounds.Entries > 0 {
				s.bounds.Entries = tt.bounds.Entries
			}
			_, err := s.Import(t.Context(), bytes.NewReader(tt.archive), "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			for _, kind := range []string{"rootfs", "tmp", "meta"} {
				if left, _ := os.ReadDir(filepath.Join(s.dir, kind)); len(left) > 0 {
					t.Errorf("%s is left in %s", left[0].Name(), kind)
				}
			}
			if _, err := os.Stat(s.indexFile()); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the index was written")
			}
		})
	}
}

func one(t *testing.T, files ...file) []byte {
	layer := tarOf(t, files...)
	return saved(t, "a/b:1", config(t, layer), layer)
}

func many(t *testing.T) []byte {
	var files []file
	for i := range 20 {
		files = append(files, file{name: "f" + string(rune('a'+i))})
	}
	return one(t, files...)
}
