package console

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	sources = os.DirFS(".")

	cssNote  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssMedia = regexp.MustCompile(`(?s)@[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}`)
	cssRule  = regexp.MustCompile(`([^{}]+)\{`)
)

// TestStylesDoNotMeet looks for rules of two files that are about the same elements: each page loads all files.
func TestStylesDoNotMeet(t *testing.T) {
	files, err := fs.Glob(web, "web/static/*.css")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	where := map[string]string{}
	for _, file := range files {
		b, err := fs.ReadFile(web, file)
		if err != nil {
			t.Fatal(err)
		}
		css := cssMedia.ReplaceAllString(cssNote.ReplaceAllString(string(b), ""), "") // what holds on some screens may add to the rest
		for _, m := range cssRule.FindAllStringSubmatch(css, -1) {
			for selector := range strings.SplitSeq(m[1], ",") {
				selector = strings.TrimSpace(selector)
				if was := where[selector]; was != "" && was != file && !strings.HasPrefix(selector, ":root") {
					t.Errorf("%s has rules in %s and in %s", selector, was, file)
				}
				where[selector] = file
			}
		}
	}
}

func TestEachNoticeIsSaid(t *testing.T) {
	said := map[string]bool{}
	files, err := fs.Glob(sources, "*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	quoted := regexp.MustCompile(`v\.done\(.*, "([a-z-]+)"\)|notice := "([a-z-]+)"`)
	for _, file := range files {
		b, err := fs.ReadFile(sources, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(b), -1) {
			said[m[1]+m[2]] = true
		}
	}
	for key := range notices {
		if !said[key] {
			t.Errorf("nobody says %q", key)
		}
	}
	for key := range said {
		if notices[key] == "" {
			t.Errorf("%q has no text", key)
		}
	}
}
