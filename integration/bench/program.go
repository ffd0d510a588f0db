package main

import (
	"testing/fstest"

	"github.com/hotcell/hotcell/integration/rig"
)

// program prints one event and then one result; each Python contender runs it.
const program = `import sys
sys.stdin.readline()
print('{"type":"skill/event","kind":"status","data":{"message":"here"}}', flush=True)
print('{"type":"skill/result","success":true,"data":42}', flush=True)
`

// slow is a module whose import takes 300 ms of a processor.
const slow = `import time
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
`

// holding waits until its caller hangs up.
const holding = `import sys, time
sys.stdin.readline()
print('{"type":"skill/event","kind":"status","data":{"message":"here"}}', flush=True)
time.sleep(600)
`

// The skills: an image that speaks the wall itself, a Python that is started when its call comes, one that has been started
// ahead, and one whose import takes long.
const (
	framesSkill   = "frames image"
	childSkill    = "Python"
	prestartSkill = "Python, prestart"
	importSkill   = "Python, prestart, 300 ms import"
	holdSkill     = "hold"
	floodSkill    = "flood"
	overSkill     = "flood over its limit"
	tunnelSkill   = "tunnel"
	smallSkill    = "frames image, small"
)

// names of skills on disk.
var names = map[string]string{
	framesSkill: "bench-frames", childSkill: "bench-python", prestartSkill: "bench-prestart", importSkill: "bench-import",
	holdSkill: "bench-hold", floodSkill: "bench-flood", overSkill: "bench-over", tunnelSkill: "bench-tunnel",
	smallSkill: "bench-small",
}

// The skills' image, and what a call of any of them hands in.
const (
	wordCountImage = "hotcell/word-count:1"
	text           = "what runs here cannot reach anything"
	request        = `{"type":"skill/call/req","arguments":{"text":"` + text + `"}}` + "\n"
)

func benchSkills() fstest.MapFS {
	frames := names[framesSkill]
	importing := rig.PythonSkill(names[importSkill], "run: {prestart: true}\n", "import slow\n"+program)
	importing[names[importSkill]+"/slow.py"] = &fstest.MapFile{Data: []byte(slow), Mode: 0o644}
	return rig.Merge(
		fstest.MapFS{
			frames + "/SKILL.md":   {Data: []byte("---\nname: " + frames + "\ndescription: counts words\n---\n"), Mode: 0o644},
			frames + "/skill.yaml": {Data: []byte("run: {image: '" + wordCountImage + "', frames: true}\nlimits: {memory: 64Mi}\n"), Mode: 0o644},
		},
		rig.PythonSkill(names[childSkill], "", program),
		rig.PythonSkill(names[prestartSkill], "run: {prestart: true}\n", program),
		rig.PythonSkill(names[holdSkill], "limits: {memory: 64Mi}\n", holding),
		rig.PythonSkill(names[floodSkill], "limits: {output: 64Mi}\n", flooding),
		rig.PythonSkill(names[tunnelSkill], "", reaching),
		rig.PythonSkill(names[overSkill], "", overflowing),
		importing,
	)
}
