package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/wall"
)

// received is one artifact, put together from its chunks.
type received struct {
	name, mime string
	data       []byte
	finals     int
}

func artifactsOf(t *testing.T, o outcome) []received {
	t.Helper()
	var all []received
	for _, l := range o.lines {
		if l.Kind != "artifact" {
			continue
		}
		var d artifactData
		if err := json.Unmarshal(l.Data, &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Chunk) > wall.FileChunk || !strings.Contains(string(l.Data), `"chunk":"`) {
			t.Errorf("a chunk of %d bytes in %.100s", len(d.Chunk), l.Data)
		}
		n := len(all)
		if n == 0 || all[n-1].name != d.Name || all[n-1].finals > 0 {
			all = append(all, received{name: d.Name, mime: d.Mime})
			n++
		}
		all[n-1].data = append(all[n-1].data, d.Chunk...)
		if d.Final {
			all[n-1].finals++
		}
	}
	return all
}

func TestArtifacts(t *testing.T) {
	o := boot(t, `
		cd $ROOT/out; echo secret > $ROOT/secret
		printf '# hi' > b.md; : > a.json; mkdir -p sub/dir; head -c 600000 /dev/zero > sub/dir/z.bin; head -c 262144 /dev/zero > exact
		ln -s $ROOT/secret link; ln -s $ROOT linkdir; mkfifo fifo; mkdir empty
		printf x > 'bad
name'; printf x > "$(printf 'x%.0s' $(seq 250))"; mkdir -p long/$(printf 'd%.0s' $(seq 250)); cd long/d*; printf x > f; cd ../..
		printf x > "$(printf 'no\377')"
	`).play()
	got := artifactsOf(t, o)
	want := []received{
		{"a.json", "application/json", nil, 1},
		{"b.md", "text/markdown", []byte("# hi"), 1},
		{"exact", "application/octet-stream", make([]byte, wall.FileChunk), 1},
		{"sub/dir/z.bin", "application/octet-stream", make([]byte, 600000), 1},
		{strings.Repeat("x", 250), "application/octet-stream", []byte("x"), 1},
	}
	equal := cmp.Comparer(func(a, b received) bool {
		return a.name == b.name && a.mime == b.mime && a.finals == b.finals && bytes.Equal(a.data, b.data)
	})
	if d := cmp.Diff(want, got, equal); d != "" {
		t.Errorf("artifacts (-want +got):\n%.3000s", d)
	}
	for _, part := range []string{"control character in the name", "not a regular file", "name longer than 255 bytes", "name is not UTF-8"} {
		if !o.hasLog(t, "warn: artifacts: "+part) {
			t.Errorf("no log of %q in %q", part, o.logs(t))
		}
	}
	if last := o.lines[len(o.lines)-1]; last.Type != wall.TypeResult || o.exit.OutputOver != "" {
		t.Errorf("the artifacts came after the result, or %+v", o.exit)
	}
}

func TestArtifactsStayWithinTheirBudget(t *testing.T) {
	o := boot(t, `cd $ROOT/out; head -c 700000 /dev/zero > a; truncate -s 100G b; head -c 700000 /dev/zero > c; printf x > d`).play()
	var names []string
	for _, a := range artifactsOf(t, o) {
		names = append(names, a.name)
	}
	if d := cmp.Diff([]string{"a", "d"}, names); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if o.exit.OutputOver != overOut || !o.hasLog(t, `over the budget of limits.out: "b" and 1 more`) {
		t.Errorf("exit = %+v, logs = %q", o.exit, o.logs(t))
	}
}

func TestArtifactsAreCounted(t *testing.T) {
	o := boot(t, `cd $ROOT/out; mkdir d; cd d; seq 1005 | sed 's/^/f/' | xargs touch`).play()
	if got := artifactsOf(t, o); len(got) != maxArtifacts {
		t.Errorf("%d artifacts", len(got))
	}
	if got := o.logs(t); len(got) != 1 || !strings.Contains(got[0], `more than 1000 files: "d/f`) || !strings.HasSuffix(got[0], " and 4 more") {
		t.Errorf("logs = %q", got)
	}
}

func TestAFloodOfEntriesIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		if err := os.MkdirAll(filepath.Join(dir, "d", strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	a := &artifacts{root: root, entries: 15}
	if files := a.find(); len(files) > 0 || a.entries != -1 || len(a.skipped) != 1 || a.skipped[0].why != "too many directory entries" {
		t.Errorf("files %v, %d entries left, skipped %+v", files, a.entries, a.skipped)
	}
}

func TestArtifactsComeAfterTheSkillsOwnResultAndAfterAFailure(t *testing.T) {
	for _, script := range []string{`echo '{"type":"skill/result","success":true}'`, `exit 5`} {
		o := boot(t, `printf x > $ROOT/out/a.txt; `+script).play()
		if got := artifactsOf(t, o); len(got) != 1 || got[0].mime != "text/plain" {
			t.Errorf("%s: artifacts %v", script, got)
		}
	}
}
