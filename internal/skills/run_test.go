package skills

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveRun(t *testing.T) {
	py, sh := []string{"python3", "/skill/scripts/main.py"}, []string{"sh", "/skill/main.sh"}
	for name, tt := range map[string]struct {
		files []string
		yaml  string
		want  Run
		why   string
	}{
		"main.py":           {[]string{"scripts/main.py", "main.sh"}, "", Run{Kind: kindPython, Command: py}, ""},
		"main.sh in root":   {[]string{"main.sh"}, "", Run{Kind: kindSh, Command: sh}, ""},
		"run.py":            {[]string{"run.py"}, "", Run{Kind: kindPython, Command: []string{"python3", "/skill/run.py"}}, ""},
		"scripts first":     {[]string{"main.py", "scripts/run.py"}, "", Run{Kind: kindPython, Command: []string{"python3", "/skill/scripts/run.py"}}, ""},
		"image only":        {[]string{"scripts/main.py"}, "run: {image: 'python:3.12', prestart: true}", Run{Kind: kindPython, Command: py, Image: "python:3.12", Prestart: true}, ""},
		"script":            {[]string{"tools/a.py"}, "run: {script: ./tools/a.py}", Run{Kind: kindPython, Command: []string{"python3", "/skill/tools/a.py"}}, ""},
		"script missing":    {[]string{"main.py"}, "run: {script: a.py}", Run{}, `skill.yaml:1:15: run.script: the bundle has no file "a.py" (symbolic links and dot files are not part of it)`},
		"script outside":    {[]string{"main.py"}, "run: {script: ../../etc/x.py}", Run{}, `skill.yaml:1:15: run.script: the bundle has no file "../../etc/x.py" (symbolic links and dot files are not part of it)`},
		"script absolute":   {[]string{"main.py"}, "run: {script: /main.py}", Run{}, `skill.yaml:1:15: run.script: the bundle has no file "/main.py" (symbolic links and dot files are not part of it)`},
		"script other":      {[]string{"x.rb"}, "run: {script: x.rb}", Run{}, `skill.yaml:1:15: run.script: "x.rb" is none of .py, .js and .sh; start it with run.command instead`},
		"javascript":        {[]string{"scripts/main.js", "main.py"}, "", Run{Kind: kindJS, Command: []string{engine, "js", "/skill/scripts/main.js"}}, ""},
		"named javascript":  {[]string{"a.js"}, "run: {script: a.js, prestart: true}", Run{Kind: kindJS, Command: []string{engine, "js", "/skill/a.js"}, Prestart: true}, ""},
		"javascript, image": {[]string{"main.js"}, "run: {image: 'me/x:1'}", Run{Kind: kindJS, Image: "me/x:1", Command: []string{engine, "js", "/skill/main.js"}}, ""},
		"agent":             {[]string{"scripts/other.py"}, "", Run{Kind: kindAgent, Command: []string{engine, "agent"}}, ""},
		"agent: true":       {[]string{"main.py"}, "run: {agent: true}", Run{Kind: kindAgent, Command: []string{engine, "agent"}}, ""},
		"command": {[]string{"main.py", "data/x.txt"}, "run: {command: [python3, -u, main.py, ./data/x.txt, data/none]}",
			Run{Kind: kindPython, Command: []string{"python3", "-u", "/skill/main.py", "/skill/data/x.txt", "data/none"}}, ""},
		"program of its own": {[]string{"bin/tool"}, "run: {image: 'debian:12', command: [bin/tool, --x=bin/tool]}",
			Run{Kind: kindCommand, Image: "debian:12", Command: []string{"/skill/bin/tool", "--x=bin/tool"}}, ""},
		"no image":         {[]string{"bin/tool"}, "run: {command: [node, x]}", Run{Kind: kindCommand, Command: []string{"node", "x"}}, `skill.yaml:1:16: run.image is required: nothing says which image has "node"`},
		"frames":           {nil, "run: {image: 'me/x:1', frames: true}", Run{Kind: kindFrames, Frames: true, Image: "me/x:1"}, ""},
		"frames, command":  {nil, "run: {image: 'me/x:1', frames: true, command: [/x, -v]}", Run{Kind: kindFrames, Frames: true, Image: "me/x:1", Command: []string{"/x", "-v"}}, ""},
		"frames, no image": {nil, "run: {frames: true}", Run{Kind: kindFrames, Frames: true}, "skill.yaml:1:6: run.image is required with run.frames"},
		"frames, script":   {[]string{"a.py"}, "run: {image: x, frames: true, script: a.py}", Run{Image: "x", Frames: true}, "skill.yaml:1:6: run: frames starts the image's own program; only command may stand beside it"},
		"two ways":         {[]string{"a.py"}, "run: {script: a.py, command: [sh]}", Run{}, "skill.yaml:1:6: run: only one of script, command and agent may be set"},
		"bad image":        {[]string{"main.py"}, "run: {image: '-v /:/x'}", Run{Image: "-v /:/x", Kind: kindPython, Command: []string{"python3", "/skill/main.py"}}, `skill.yaml:1:14: run.image: "-v /:/x" is not an image reference; expected one such as python:3.12-slim`},
		"empty argument":   {[]string{"main.py"}, "run: {command: ['']}", Run{}, "skill.yaml:1:17: run.command[0]: must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := mapFS("SKILL.md", goodSkillMD, "skill.yaml", tt.yaml)
			for _, f := range tt.files {
				fsys[f] = mapFS("x", "#")["x"]
			}
			sk := load(fsys, "hello", reading{}).skill
			if diff := cmp.Diff(tt.want, sk.Run); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if sk.BlockedWhy != tt.why {
				t.Errorf("blocked\n got %q\nwant %q", sk.BlockedWhy, tt.why)
			}
			if (sk.Status == Blocked) != (tt.why != "") {
				t.Errorf("status %s", sk.Status)
			}
		})
	}
}
