package load

import (
	"testing/fstest"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// kind is a skill and how a call of it must end.
type kind struct {
	name    string
	share   int // of the calls, in parts
	yaml    string
	script  string
	seconds int // the call's deadline; 0: a minute

	code   a2e.Code
	reason string
	events int // that come at least
}

const result = "import json, sys\nn = json.loads(sys.stdin.readline())['arguments']['n']\n" +
	"print(json.dumps({'type': 'skill/event', 'kind': 'progress', 'data': {'pct': 50}}))\n" +
	"print(json.dumps({'type': 'skill/result', 'success': True, 'data': n}), flush=True)\n"

const bare = "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"

// kinds are skills whose cells can wait for a call and such whose can't, with the runner and without, and with every end.
func kinds() []kind {
	return []kind{
		{name: "plain", share: 4, script: result, events: 1},
		{name: "prestarted", share: 4, yaml: "run: {prestart: true}\n", script: result, events: 1},
		{name: "bare-and-ready", share: 2, yaml: bare, events: 1,
			script: "print('{\"type\":\"cell/ready\",\"protocol\":1}', flush=True)\n" + result + "sys.stdin.read()\n"},
		{name: "bare", share: 1, yaml: bare, script: result + "sys.stdin.read()\n", events: 1}, // never reports ready, so that none waits
		{name: "fails", share: 1, script: "import sys\nsys.exit(3)\n", code: a2e.SkillError, reason: a2e.ReasonExit},
		{name: "dies", share: 1, script: "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", code: a2e.SandboxCrash, reason: a2e.ReasonSignal},
		{name: "overstays", share: 1, seconds: 1, script: "import time\ntime.sleep(600)\n", code: a2e.Timeout},
		{name: "greedy", share: 1, yaml: "limits: {memory: 32Mi}\n", script: "b = bytearray()\nwhile True: b += b'x' * (1 << 20)\n", code: a2e.OutOfMemory},
	}
}

// folders are the skills as files.
func folders(all []kind) fstest.MapFS {
	files := fstest.MapFS{}
	for _, k := range all {
		files = rig.Merge(files, rig.PythonSkill(k.name, k.yaml, k.script))
	}
	return files
}

// deck holds each kind as often as its share says.
func deck(all []kind) (cards []*kind) {
	for i := range all {
		for range all[i].share {
			cards = append(cards, &all[i])
		}
	}
	return cards
}
