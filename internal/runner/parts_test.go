package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/wall"
)

func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\"\\\n\r\t\b\f\x00\x1f\x7f<>&\u2028\u2029é\uFFFD😀")))).Draw(t, "s")
		room := rapid.IntRange(2, 80).Draw(t, "room")
		head, cut := fit(s, room)
		if !strings.HasPrefix(s, head) || cut != (head != s) || len(quote(head)) > room {
			t.Fatalf("fit(%q, %d) = %q, %v: %d bytes", s, room, head, cut, len(quote(head)))
		}
		if cut {
			_, n := utf8.DecodeRuneInString(s[len(head):])
			if len(quote(s[:len(head)+n])) <= room {
				t.Fatalf("fit(%q, %d) = %q: one more would fit", s, room, head)
			}
		}
		var back string
		if err := json.Unmarshal(quote(head), &back); err != nil || back != head {
			t.Fatalf("%q came back as %q, %v", head, back, err)
		}
	})
}

func TestPlainResultFitsItsLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(200, 400).Draw(t, "limit")
		p := plain{limit: limit}
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "\x00", "é", `"`, "1", "\n"}).Draw(t, "unit"), rapid.IntRange(0, 500).Draw(t, "n"))
		over := !p.add(wall.Line{Bytes: []byte(text)})
		var b strings.Builder
		r := p.result()
		if err := wall.NewWriter(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
		if b.Len() > limit {
			t.Fatalf("a line of %d bytes, at most %d are allowed", b.Len(), limit)
		}
		if over && !r.Truncated {
			t.Fatal("cut, but not marked")
		}
	})
}

func TestTail(t *testing.T) {
	long := strings.Repeat("é", 3000)
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing", nil, ""},
		{"lines", []string{"a", "", "b", ""}, "a\n\nb"},
		{"whole lines", append(strings.Split(strings.Repeat(strings.Repeat("x", 99)+"\n", 200), "\n"), "end"), strings.Repeat(strings.Repeat("x", 99)+"\n", 40) + "\nend"},
		{"one long line", []string{long}, strings.Repeat("é", 2048)},
		{"a line of just that length", []string{"a", strings.Repeat("x", maxTail)}, strings.Repeat("x", maxTail)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tl tail
			for _, l := range tt.lines {
				tl.add(l)
			}
			if got := tl.String(); got != tt.want {
				t.Errorf("%d bytes %.80q…, want %d bytes", len(got), got, len(tt.want))
			}
		})
	}
}

func TestTailIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tl tail
		for _, s := range rapid.SliceOf(rapid.StringN(0, 3000, 6000)).Draw(t, "lines") {
			tl.add(s)
			if got := tl.String(); len(got) > maxTail || !utf8.ValidString(got) {
				t.Fatalf("%d bytes", len(got))
			}
		}
		if cap(tl.b) > 64<<10 {
			t.Fatalf("holds %d bytes", cap(tl.b))
		}
	})
}

func TestOOMKills(t *testing.T) {
	for _, tt := range []struct {
		name, file, before, after string
		want                      int64
	}{
		{"v2", "/sys/fs/cgroup/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", "low 0\noom 9\noom_kill 5\n", 3},
		{"v1", "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "oom_kill_disable 0\noom_kill 1\n", 1},
		{"not there", "/none", "", "", -1},
		{"unreadable", "/sys/fs/cgroup/memory.events", "oom_kill x\n", "oom_kill -3\n", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			l := &life{cfg: Config{Root: root}}
			count := func(text string) int64 {
				name := filepath.Join(root, tt.file)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return l.oomKills()
			}
			before := count(tt.before)
			if got := since(before, count(tt.after)); got != tt.want {
				t.Errorf("oom kills = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMimeOf(t *testing.T) {
	for name, want := range map[string]string{
		"a/Report.MD": "text/markdown", "x.tar.gz": "application/gzip", "none": "application/octet-stream", ".json": "application/json",
	} {
		if got := mimeOf(name); got != want {
			t.Errorf("mimeOf(%q) = %q, want %q", name, got, want)
		}
	}
}
