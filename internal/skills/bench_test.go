package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// thousand makes 1,000 skills as people have them, in two sources. A third of them is run by a script, and some need others.
func thousand(tb testing.TB) []Source {
	tb.Helper()
	old := time.Now().Add(-time.Hour)
	put := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			tb.Fatal(err)
		}
	}
	dirs := []string{tb.TempDir(), tb.TempDir()}
	for i := range 1000 {
		name := fmt.Sprintf("skill-%03d", i)
		dir := filepath.Join(dirs[i%2], name)
		front := "---\nname: " + name + "\ndescription: Does one thing. Use it when that thing is to be done.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\nallowed-tools: agent read_url\n---\n"
		body := ""
		for line := range 60 {
			body += fmt.Sprintf("%d. Do what the step says, and look at references/more.md where it is not clear.\n", line)
		}
		put(dir+"/SKILL.md", front+body)
		put(dir+"/references/more.md", body)
		put(dir+"/references/examples.md", body)
		switch i % 3 {
		case 0:
			put(dir+"/scripts/main.py", "print(1)\n")
			put(dir+"/skill.yaml", "version: 1.0.0\ntags: [one]\ninput_schema: {type: object, properties: {q: {type: string}}, required: [q]}\n")
		case 1:
			put(dir+"/skill.yaml", "version: 1.0.0\nincludes: [skill-000]\ntools: ['skill:skill-003']\nrun: {agent: true}\n")
		}
	}
	return []Source{Dir(SourceProject, dirs[0]), Dir("a-plugin", dirs[1])}
}

// The start with 1,000 skills: at most 3 s.
func BenchmarkStartWithThousand(b *testing.B) {
	sources := thousand(b)
	for b.Loop() {
		l, err := Load(sources, nil)
		if err != nil || len(l.List()) != 1000 {
			b.Fatal(err)
		}
	}
}

// One of 1,000 skills changes, and only its place is looked at: at most 100 ms.
func BenchmarkReloadOneOfThousand(b *testing.B) {
	sources := thousand(b)
	l, err := Load(sources, nil)
	if err != nil {
		b.Fatal(err)
	}
	l.Watched(true)
	file := filepath.Join(sources[0].Path, "skill-500/references/more.md")
	held, _ := l.Find("skill-500")
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(file, fmt.Appendf(nil, "Version %d.\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Settle(0, Place{0, "skill-500"}); err != nil {
			b.Fatal(err)
		}
		now, _ := l.Find("skill-500")
		if now.Bundle.Digest == held.Bundle.Digest {
			b.Fatal("the change was not noticed")
		}
		held = now
	}
}

// A look at 1,000 skills of which none has changed.
func BenchmarkLookAtThousand(b *testing.B) {
	l, err := Load(thousand(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := l.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}

// Finding one of 1,000: at most 1 ms, also a name that is not there, for which the closest is sought.
func BenchmarkFindOneOfThousand(b *testing.B) {
	l, err := Load(thousand(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	l.Watched(true)
	for name, asked := range map[string]string{"exact": "skill-500", "folded": " SKILL_500\n", "missing": "skil-5000"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.Find(asked)
			}
		})
	}
}
