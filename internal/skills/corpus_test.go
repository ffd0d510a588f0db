package skills

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fronts are frontmatters as they are found in public repositories, sound ones and others.
func fronts() []string {
	return []string{
		"name: NAME\ndescription: Reads tables. Use when a CSV file is at hand.\nlicense: Complete terms in LICENSE.txt\n",
		"name: NAME\ndescription: \"Review code: finds bugs\"\nallowed-tools: Read, Grep, Bash(git:*)\n",
		"name: NAME\ndescription: Use when: somebody asks: now\nargument-hint: \"[file]\"\nuser-invocable: true\n",
		"name: NAME\ndescription: |\n  Several lines.\n\n  With a gap.\nallowed-tools:\n  - Read\n  - Bash(npm run *)\n",
		"name: NAME\ndescription: >-\n  folded\n  text\nmetadata:\n  author: somebody\n  version: 1.0\n  tags: [a, b]\n",
		"name: NAME\ndescription: x\nmetadata: {openclaw: {requires: {bins: [gh]}, install: [{id: brew, kind: brew}]}}\n",
		"name: NAME\ndescription: x\ncompatibility: Requires Python 3.12\nmodel: opus\neffort: high\ncontext: fork\nagent: Explore\n",
		"name: NAME\ndescription: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./check.sh\n",
		"name: NAME\ndescription: 'it''s'\npaths:\n- \"src/**\"\n- '*.ts'\ndisable-model-invocation: yes\n",
		"name: \"NAME\"\ndescription: LONG\ncompatibility: LONG\n",
		"name: 技能\ndescription: 读取表格。\n", "name: мой-навык\ndescription: Читает таблицы.\n", "name: مهارة\ndescription: \u200fيقرأ الجداول\n",
		"name: Some Skill\ndescription: \n", "name: a--b\ndescription: [x]\nlicense: {a: b}\nallowed-tools: 7\n", "title: x\n", "- name: NAME\n",
		"name: NAME\nname: NAME\ndescription: x\n", "\tname: NAME\n\tdescription: x\n", "name: NAME\n description: x\n", "name: NAME\ndescription: &a x\nlicense: *a\n",
		"name: !!str NAME\ndescription: x\n", "name: NAME\ndescription: {{description}}\n", "name: NAME # comment\n# only a comment\ndescription: x # y\n",
		"name: NAME\ndescription: x\nmetadata:\n" + strings.Repeat(" ", 2) + "a:\n" + nested(70), "? name\n: NAME\n", "", "\n\n", "null\n", "name: NAME\ndescription: \"unclosed\n",
		"name: NAME\ndescription: x\nmetadata:\n  k: 2026-01-01\n  n: ~\n  o: 0o17\n  f: .inf\n",
	}
}

// nested is a mapping of so many levels.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+4) + "a:\n")
	}
	return b.String()
}

func sidecars() []string {
	return []string{
		"", "version: 1.0.0\ntags: [a]\n", "verson: 1\ninput_schema: {type: objet}\n", "run: {image: \"X Y\", command: [sh]}\nlimits: {memory: 1Ki, cpu: many}\n",
		"input_schema:\n  properties:\n    a: {type: strin}\n  required: a\noutput_schema: [x]\n", "timeout_seconds: -1\nmax_turns: 1.5\nsecrets: [a b]\nnetwork: {allow: [x]}\n",
		"run: {script: ../x.py}\n", "llm: {inject: nowhere}\ntools: [{a: b}, gone]\nincludes: NAME\n", "\tversion: 1\n", "version: 1\nversion: 2\n", "- a\n", "a: *b\n", "---\nversion: 1\n---\nversion: 2\n",
		"examples: [{arguments: 7}]\nstatus: Nope\nwrites: maybe\nmetadata: [a]\n", "技能: x\nicon: \u202ex\n",
	}
}

// damages change a text as editors, systems and accidents do.
func damages() map[string]func(t *rapid.T, s string) string {
	anywhere := func(t *rapid.T, s string) int { return rapid.IntRange(0, len(s)).Draw(t, "at") }
	insert := func(what ...string) func(*rapid.T, string) string {
		return func(t *rapid.T, s string) string {
			at := anywhere(t, s)
			return s[:at] + rapid.SampledFrom(what).Draw(t, "what") + s[at:]
		}
	}
	return map[string]func(t *rapid.T, s string) string{
		"none":     func(_ *rapid.T, s string) string { return s },
		"CRLF":     func(_ *rapid.T, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"CR":       func(_ *rapid.T, s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"mixed":    insert("\r\n", "\r", "\n", "\u2028", "\u0085", "\v", "\f"),
		"BOM":      func(_ *rapid.T, s string) string { return "\uFEFF" + s },
		"two BOMs": func(_ *rapid.T, s string) string { return "\uFEFF\uFEFF" + s },
		"UTF-16":   func(_ *rapid.T, s string) string { return wide(s) },
		"Latin-1":  insert("\xe9", "\xff\xfe", "caf\xe9", "\xc3", "\xed\xa0\x80"),
		"NUL":      insert("\x00"),
		"tab":      insert("\t", "\n\t", " \t "),
		"controls": insert("\x1b[31m", "\x07", "\u202e", "\u200b", "\u00a0"),
		"syntax":   insert(":", ": ", "- ", "[", "{", "}", "]", "\"", "'", "#", " #", "|", ">", "&a ", "*a ", "!x ", "%", "@", "`", "---", "\n---\n", "...", "? ", ", ", "<<: x\n"),
		"cut":      func(t *rapid.T, s string) string { return s[:anywhere(t, s)] },
		"doubled":  func(t *rapid.T, s string) string { at := anywhere(t, s); return s[:at] + s[at/2:] },
		"indented": func(_ *rapid.T, s string) string { return strings.ReplaceAll(s, "\n", "\n ") },
		"many lines": func(t *rapid.T, s string) string {
			at := anywhere(t, s)
			key := rapid.SampledFrom([]string{"\nkey: x", "\nkey%d: x"}).Draw(t, "key")
			var b strings.Builder
			for i := range rapid.IntRange(1, 300).Draw(t, "lines") {
				b.WriteString(strings.ReplaceAll(key, "%d", fmt.Sprint(i)))
			}
			return s[:at] + b.String() + s[at:]
		},
		"large": func(t *rapid.T, s string) string {
			at := anywhere(t, s)
			return s[:at] + strings.Repeat("long ", rapid.SampledFrom([]int{300, 12_000, 55_000, 210_000}).Draw(t, "words")) + s[at:]
		},
		"deep": func(t *rapid.T, s string) string {
			at := anywhere(t, s)
			return s[:at] + strings.Repeat(rapid.SampledFrom([]string{"[", "{a: ", "- ", "a: "}).Draw(t, "opener"), rapid.IntRange(10, 400).Draw(t, "levels")) + s[at:]
		},
	}
}

func wide(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func damaged(t *rapid.T, s string) string {
	kinds := damages()
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	for range rapid.IntRange(0, 3).Draw(t, "damages") {
		s = kinds[rapid.SampledFrom(sorted(names)).Draw(t, "damage")](t, s)
	}
	return s
}

func sorted(names []string) []string {
	for i := range names {
		for k := i; k > 0 && names[k] < names[k-1]; k-- {
			names[k], names[k-1] = names[k-1], names[k]
		}
	}
	return names
}

// thirdParty is a bundle that somebody else might have made.
func thirdParty(t *rapid.T) (folder string, files fstest.MapFS) {
	folder = rapid.SampledFrom([]string{"pdf-tools", "技能", "Мой навык", "UPPER", "with space", "a--b", "-edge", "x'\"y", strings.Repeat("n", 90), "esc\x1b[31m"}).Draw(t, "folder")
	front := rapid.SampledFrom(fronts()).Draw(t, "frontmatter")
	front = strings.ReplaceAll(front, "NAME", rapid.SampledFrom([]string{folder, "pdf-tools", "other"}).Draw(t, "name"))
	front = strings.ReplaceAll(front, "LONG", strings.Repeat("語 ", rapid.IntRange(200, 1200).Draw(t, "length")))
	body := strings.Repeat("# Title\n\nText --- with dashes\n", rapid.SampledFrom([]int{0, 1, 200, 2000}).Draw(t, "body"))
	files = fstest.MapFS{}
	put := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	put("SKILL.md", damaged(t, "---\n"+front+"---\n"+body))
	if side := rapid.SampledFrom(sidecars()).Draw(t, "skill.yaml"); side != "" {
		put("skill.yaml", damaged(t, strings.ReplaceAll(side, "NAME", folder)))
	}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"main.py", "scripts/main.js", "references/a.md", "LICENSE.txt", "bad\\name", ".hidden/x", "lost"}), 0, 3).Draw(t, "files") {
		put(name, "x")
	}
	return folder, files
}

// Whatever third parties wrote, lint ends, and each finding points at a place that is there.
func TestFindingsPointAtTheirLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, files := thirdParty(t)
		inFolder := fstest.MapFS{}
		for name, f := range files {
			inFolder[path.Join(folder, name)] = f
		}
		for _, o := range []LintOptions{{}, {Profile: Strict}, {Tools: namer{}}} {
			found, n := Lint(inFolder, folder, o)
			if n != 1 || len(found) > 2*(maxFindings+1) { // of its files, and of what they ask for
				t.Errorf("%d bundles, %d findings", n, len(found))
			}
			for _, f := range found {
				pointsAt(t, files, f)
			}
		}
	})
}

// failer is what a test and a property have in common.
type failer interface {
	Errorf(format string, args ...any)
}

// pointsAt makes sure that the place of a finding is one in its file. About a file that can't be read, or none at all, there
// is no line to be told.
func pointsAt(t failer, files fstest.MapFS, f Finding) {
	text, err := files.ReadFile(f.File)
	unread := f.Code == CodeUnreadable || f.Code == CodeUnreadableFile || f.Code == CodeBadFile || f.Code == CodeTooLarge || f.Code == CodeNoSkill
	if err != nil || unread {
		if f.Line != 0 || f.Column != 0 || !unread {
			t.Errorf("no such place: %s (%v)", f, err)
		}
		return
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n") // as YAML has it
	if f.Line < 1 || f.Line > len(lines) {
		t.Errorf("%d lines: %s", len(lines), f)
		return
	}
	line := strings.TrimPrefix(lines[f.Line-1], "\uFEFF")
	if f.Column < 1 || f.Column > utf8.RuneCountInString(line)+1 {
		t.Errorf("%q has %d characters: %s", clip(line, 100), utf8.RuneCountInString(line), f)
	}
	shown := f.String()
	if !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x00\x1b\n\r\u202e") || len(shown) > 4000 {
		t.Errorf("not fit to be shown: %q", shown)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Errorf("%v", err)
	}
}

// A folder with hundreds of others' skills, some of which can't be read, is gone through to its end: each is looked at, and
// what is wrong with one hides nothing of another.
func TestHundredsOfThirdPartySkills(t *testing.T) {
	dir := t.TempDir()
	const many = 400
	bundles := make(map[string]fstest.MapFS, many)
	for i := range many {
		_, files := made(i)
		at := fmt.Sprintf("vendor-%d/skills/skill-%03d", i%7, i)
		bundles[at] = files
		for name, f := range files {
			write(t, filepath.Join(dir, at, name), string(f.Data))
		}
	}
	for i := range 10 { // those that can't be read
		at := fmt.Sprintf("vendor-0/skills/locked-%d", i)
		write(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: x\n---\n")
		bundles[at] = fstest.MapFS{}
	}
	found, n := Lint(locked{os.DirFS(dir)}, ".", LintOptions{})
	if n != len(bundles) {
		t.Errorf("%d bundles, want %d", n, len(bundles))
	}
	unread := 0
	for _, f := range found {
		at, files := bundleOf(bundles, f.File)
		if files == nil {
			t.Fatalf("of no bundle: %s", f)
		}
		f.File = strings.TrimPrefix(f.File, at+"/")
		if len(files) == 0 {
			unread++
			if f.Line != 0 || f.Code != CodeUnreadable && f.Code != CodeUnreadableFile {
				t.Errorf("%s", f)
			}
			continue
		}
		pointsAt(t, files, f)
	}
	if unread < 10 {
		t.Errorf("%d findings about what can't be read", unread)
	}
}

func made(i int) (string, fstest.MapFS) {
	type bundle struct {
		folder string
		files  fstest.MapFS
	}
	b := rapid.Custom(func(t *rapid.T) bundle {
		folder, files := thirdParty(t)
		return bundle{folder, files}
	}).Example(i)
	return b.folder, b.files
}

func bundleOf(bundles map[string]fstest.MapFS, file string) (string, fstest.MapFS) {
	for at := path.Dir(file); at != "."; at = path.Dir(at) {
		if files := bundles[at]; files != nil {
			return at, files
		}
	}
	return "", bundles[file]
}

// A folder that can't be looked into is told: it might hold skills.
func TestFoldersThatCannotBeRead(t *testing.T) {
	files := mapFS("skills/good/SKILL.md", "---\nname: good\ndescription: x\n---\n", "skills/closed/x", "")
	for _, dir := range []string{"skills", "skills/closed"} {
		found, n := Lint(closed{files}, dir, LintOptions{})
		if len(found) != 1 || found[0].Code != CodeUnreadableFile || found[0].Line != 0 || n != strings.Count("skills", dir) {
			t.Errorf("%s: %d bundles, %q", dir, n, texts(found))
		}
	}
}

// closed is a file system with a folder that nobody may look into.
type closed struct{ fs.FS }

func (c closed) Open(name string) (fs.File, error) {
	if path.Base(name) == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Open(name)
}

func (c closed) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

func (c closed) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }

// locked is a file system in which nobody may read what is below a folder of that name, whoever runs the test.
type locked struct{ fs.FS }

func (l locked) Open(name string) (fs.File, error) {
	if strings.Contains(name, "locked-") && strings.HasSuffix(name, ".md") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.FS.Open(name)
}

func (l locked) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(l.FS, name) }

func (l locked) ReadLink(name string) (string, error) { return fs.ReadLink(l.FS, name) }
