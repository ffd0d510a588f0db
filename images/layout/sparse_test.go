package layout

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const tarBlock = 512

// resum edits the first header of an archive.
func resum(archive []byte, edit func(h []byte)) []byte {
	h := archive[:tarBlock]
	edit(h)
	copy(h[148:], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return archive
}

// oldSparse is a layer with a file in it that is a hole of so many bytes, in the old form of GNU tar.
func oldSparse(t testing.TB, size int64) []byte {
	return resum(tarOf(t, file{name: "hole"}), func(h []byte) {
		h[156] = tar.TypeGNUSparse
		copy(h[257:], "ustar  \x00")
		clear(h[345:])
		copy(h[483:], fmt.Sprintf("%011o\x00", size))
	})
}

// paxSparse is the same in the form of POSIX.
func paxSparse(t testing.TB, size int64) []byte {
	var records bytes.Buffer
	for _, r := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=hole", fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		n := len(r) + 4 // two digits, a space, a newline
		fmt.Fprintf(&records, "%d %s\n", n, r)
	}
	return resum(tarOf(t, file{name: "records", data: records.String()}, file{name: "hole", data: "0\n" + strings.Repeat("\x00", tarBlock-2)}),
		func(h []byte) { h[156] = tar.TypeXHeader })
}

// A file that is a hole in its layer takes as much of the disk as any other, and counts like one.
func TestHolesCount(t *testing.T) {
	for name, layer := range map[string]func(testing.TB, int64) []byte{"old": oldSparse, "posix": paxSparse} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			root, err := unpacked(t, s, layer(t, 1000))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := listing(t, root), "hole -rw-r--r-- "+strings.Repeat("\x00", 1000)+"\n"; got != want {
				t.Errorf("a small one: %q", got)
			}
			s.bounds.Bytes = 1 << 20
			if _, err := unpacked(t, s, layer(t, 8<<20)); err == nil || !strings.Contains(err.Error(), "image is larger than 1048576 bytes") {
				t.Errorf("a large one: %v", err)
			}
		})
	}
}
