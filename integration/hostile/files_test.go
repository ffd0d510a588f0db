package hostile

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

func fileRows() []row {
	const (
		collector = "the runner, which sends regular files alone and follows no link"
		room      = "limits.out"
	)
	over := func(name, what, yaml string, args ...string) row {
		return row{name: name, what: what, stops: room, yaml: yaml, args: args, code: a2e.SkillError, reason: a2e.ReasonOutputLimit, says: "out"}
	}
	return []row{
		{name: "links", what: "leaves links that lead out, nowhere and in circles", stops: collector, args: []string{"files-links"},
			check: every(held(1), files("hard.txt", "plain.txt"), saying("not a regular file"), numbered)},
		{name: "special-files", what: "leaves devices, a fifo and a socket", stops: collector + ", and a cell that may make no device",
			args: []string{"files-special"}, check: every(held(4), files("plain.txt"), saying("not a regular file"))},
		over("sparse", "leaves a file of a terabyte that has no bytes", "", "files-sparse"),
		{name: "sparse-with-result", what: "does so, and gives a result", stops: room, args: []string{"files-sparse", "result"},
			check: every(data(`"sparse"`), files("plain.txt"), saying("over the budget of limits.out"), noted("budget, and the rest was dropped"))},
		{name: "names", what: "gives its files every name there can be", stops: collector, args: []string{"files-names"},
			check: every(held(2), cleanNames, saying("control character in the name"), saying("name is not UTF-8"), numbered)},
		{name: "deep-folders", what: "leaves a file below 500 folders", stops: "the length of an artifact's name", args: []string{"files-deep", "500"},
			check: every(data(`"deep"`), files("plain.txt"), saying("name longer than 255 bytes"))},
		{name: "many-files", what: "leaves 100,000 files", stops: "the number of files that are looked at and sent", args: []string{"files-many", "100000"},
			seconds: 60, check: every(fileCount(1000), saying("more than 1000 files"), numbered)},
		{name: "sealed-files", what: "leaves what its owner may not read", stops: collector, args: []string{"files-sealed"},
			check: every(data(`"sealed"`), files("plain.txt"), saying("cannot be read"))},
		{name: "files-at-the-limit", what: "leaves as much as it may", stops: "nothing: it is in order", yaml: "limits: {out: 1Mi}\n", args: []string{"files-size", "1048576"},
			check: every(data(`1048576`), files("file"))},
		over("files-over-by-one", "leaves one byte more than it may", "limits: {out: 1Mi}\n", "files-size", "1048577"),
		{name: "moving-files", what: "leaves a process that changes its files while they are collected", stops: "the runner, which ends what is left first",
			args: []string{"files-moving"}, check: every(data(`"moving"`), fileIs("steady.txt", "steady"), wholeFiles, numbered)},
		{name: "out-swapped", what: "puts another folder in the place of /out", stops: "the read-only root, where /out is a mount", args: []string{"files-swapped"},
			check: every(held(3), files())},
		{name: "forged-artifacts", what: "tells of artifacts as an event, with every name and chunk there can be", stops: "the relay", args: append([]string{"frames"}, forgedArtifacts()...),
			check: every(data(`"done"`), files("../../etc/passwd", "/etc/passwd", "a\nb", "gone", "halves", "x"), saying("not base64"), saying("final chunk before"), numbered)},
		{name: "artifacts-without-end", what: "tells of more bytes of artifacts than it may", stops: room, yaml: "limits: {out: 4Mi}\n", args: []string{"print-lines", "100",
			`{"type":"skill/event","kind":"artifact","data":{"name":"big","chunk":"@chunk"}}`},
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, says: "out budget", check: numbered},
		{name: "artifacts-without-bytes", what: "tells of endless artifacts without a byte", stops: "the number of events", args: []string{"print-lines", "140000",
			`{"type":"skill/event","kind":"artifact","data":{"name":"n#","chunk":""}}`},
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, check: numbered},
		{name: "artifacts-with-long-names", what: "hides a flood in the names of artifacts", stops: "the length of an artifact's name", args: []string{"print-lines", "200000",
			`{"type":"skill/event","kind":"artifact","data":{"name":"n#` + strings.Repeat("n", 200_000) + `","chunk":"","final":true,"more":"` + strings.Repeat("m", 200_000) + `"}}`},
			code: a2e.SkillError, reason: a2e.ReasonOutputLimit, check: every(numbered, files())},
	}
}

// forgedArtifacts are lines that claim files which no runner would send.
func forgedArtifacts() []string {
	chunk := func(name, data, chunk, more string) string {
		return `{"type":"skill/event","kind":"artifact","data":{"name":` + name + `,` + data + `"chunk":` + chunk + more + `}}`
	}
	return []string{
		chunk(`"../../etc/passwd"`, "", `"aGk="`, `,"final":true`),
		chunk(`"/etc/passwd"`, "", `"aGk="`, `,"final":true`),
		chunk(`"a\nb"`, `"mime":"`+strings.Repeat("m", 1000)+`",`, `"aGk="`, `,"final":true`),
		chunk(`"gone"`, `"size":5,"sha256":"00","offset":-1,`, `"aGk="`, ``), // never final
		chunk(`"halves"`, `"seq":7,`, `"aGk="`, ``),
		chunk(`"halves"`, `"seq":3,`, `"aG"`, ``), // not base64
		chunk(`"halves"`, ``, `"YQ=="`, ``),       // in the middle
		chunk(`"halves"`, ``, `""`, `,"final":true`),
		chunk(`"halves"`, ``, `"aGk="`, `,"final":true`),
		chunk(`"halves"`, ``, `"aGk="`, ``),
		chunk(`""`, ``, `"aGk="`, ``),
		chunk(`7`, ``, `"aGk="`, ``),
		chunk(`"n"`, ``, `7`, ``),
		chunk(`"n"`, ``, `"`+strings.Repeat("?", 100_000)+`"`, ``),
		chunk(`"x"`, ``, `"aGk="`, `,"final":"yes","mime":7`),
		`{"type":"skill/event","kind":"artifact"}`,
		`{"type":"skill/result","success":true,"data":"done"}`,
	}
}

func TestFiles(t *testing.T) { runRows(t, fileRows()) }

// left are the files that the events of a call make, and which of them are whole.
func (c told) left(t testing.TB) (files map[string]string, final map[string]bool) {
	t.Helper()
	files, final = map[string]string{}, map[string]bool{}
	for _, ev := range c.events {
		if ev.Kind != a2e.KindArtifact {
			continue
		}
		name, _ := ev.Data["name"].(string)
		text, _ := ev.Data["chunk"].(string)
		chunk, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Errorf("a chunk of %q: %v", name, err)
		}
		if final[name] {
			t.Errorf("%q goes on after its end", name)
		}
		files[name] += string(chunk)
		final[name], _ = ev.Data["final"].(bool)
	}
	return files, final
}

// files makes sure that these files were sent and no other.
func files(names ...string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		sent, _ := got.left(t)
		have := []string{}
		for name, content := range sent {
			have = append(have, name)
			if strings.Contains(content, "root:") {
				t.Errorf("%q holds a file of the image: %.100q", name, content)
			}
		}
		slices.Sort(have)
		slices.Sort(names)
		if !slices.Equal(have, names) {
			t.Errorf("files %q, want %q", have, names)
		}
	}
}

func fileCount(want int) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if sent, _ := got.left(t); len(sent) != want {
			t.Errorf("%d files, want %d", len(sent), want)
		}
	}
}

func fileIs(name, content string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if sent, final := got.left(t); sent[name] != content || !final[name] {
			t.Errorf("%s is %.100q, whole: %v", name, sent[name], final[name])
		}
	}
}

// wholeFiles makes sure that each file that was begun was ended.
func wholeFiles(t testing.TB, got told) {
	t.Helper()
	_, final := got.left(t)
	for name, whole := range final {
		if !whole {
			t.Errorf("%q has no end", name)
		}
	}
}

// cleanNames makes sure that no name can end a line or steer a terminal, and that each file is its own.
func cleanNames(t testing.TB, got told) {
	t.Helper()
	sent, _ := got.left(t)
	if len(sent) < 10 {
		t.Errorf("only %d files: %q", len(sent), sent)
	}
	for name, content := range sent {
		if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) || name != content {
			t.Errorf("file %q holds %q", name, content)
		}
	}
}
