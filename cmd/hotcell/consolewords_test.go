package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commandIn finds commands of this program in pages of the console and in its advice.
var commandIn = regexp.MustCompile(`(?:<code>|Text: "|\\n)hotcell ([a-z]+)(?: ([a-z]+))?`)

func TestTheConsoleNamesCommandsThatThereAre(t *testing.T) {
	root := (&app{}).root()
	n := 0
	for _, pattern := range []string{"*.go", "web/*/*.html"} {
		files, err := filepath.Glob("../../internal/console/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range commandIn.FindAllStringSubmatch(string(b), -1) {
				n++
				c, _, err := root.Find(strings.Fields(m[1] + " " + m[2]))
				if err != nil || c == root || c.HasSubCommands() {
					t.Errorf("%s: there is no command %q", file, strings.TrimSpace("hotcell "+m[1]+" "+m[2]))
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("found %d commands only", n)
	}
}
