package doors

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotcell/hotcell/integration/rig"
)

// The skills of the catalogue. Their cells wait for the next call, so that a call through each door takes no time to speak of.
const (
	lib = `import json, os, sys, time
request = json.loads(sys.stdin.readline())
args = request["arguments"]
def say(pct, message):
    print(json.dumps({"type": "skill/event", "kind": "progress", "data": {"pct": pct, "message": message}}), flush=True)
def give(**result):
    print(json.dumps({"type": "skill/result", **result}), flush=True)
`
	echoSkill   = lib + "give(success=True, data=args, summary='echoed')\n"
	talkSkill   = lib + "for pct, word in (10, 'one'), (50, 'zwei ü'), (90, '三 🚀'):\n    say(pct, word)\ngive(success=True, data='said')\n"
	failSkill   = lib + "give(success=False, error='it is broken', error_code='E_BROKEN', retryable=False)\n"
	exitSkill   = lib + "print('no luck', file=sys.stderr)\nsys.exit(3)\n"
	napSkill    = lib + "say(1, 'asleep')\ntime.sleep(600)\n"
	greedySkill = "b = bytearray()\nwhile True: b += b'x' * (1 << 20)\n"
	floodSkill  = lib + "while True: print('x' * 1000)\n"
	dieSkill    = lib + "import signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
	inputsSkill = lib + "found = {}\nfor at, _, names in os.walk('/workspace/in'):\n    for name in names:\n        path = os.path.join(at, name)\n" +
		"        found[os.path.relpath(path, '/workspace/in')] = os.path.getsize(path)\ngive(success=True, data=found)\n"
	filesSkill = lib + `os.makedirs("/out/sub")
with open("/out/big.bin", "wb") as f:
    f.write((bytes(range(251)) * 20889)[:5 << 20])
with open("/out/sub/ü.txt", "w") as f:
    f.write("grüße")
give(success=True, data="written")
`
)

const (
	small = "limits: {memory: 48Mi, cpu: '1'}\n"
	ready = small + "run: {prestart: true}\n"
	typed = ready + "input_schema: {type: object, properties: {n: {type: integer}, text: {type: string}}, required: [text]}\n"
)

// skill is one of the catalogue's, in Python.
type skill struct{ yaml, script string }

func scripts() map[string]skill {
	return map[string]skill{
		"echo":        {typed, echoSkill},
		"talk":        {ready, talkSkill},
		"fail":        {ready, failSkill},
		"exit":        {ready, exitSkill},
		"nap":         {ready, napSkill},
		"nap-briefly": {ready + "timeout_seconds: 1\n", napSkill},
		"greedy":      {small, greedySkill},
		"flood":       {"limits: {memory: 48Mi, output: 64Ki}\nrun: {prestart: true}\n", floodSkill},
		"die":         {ready, dieSkill},
		"files":       {ready, filesSkill},
		"inputs":      {small, inputsSkill},
		"nowhere":     {"run: {image: 'hotcell/not-there:1'}\n", echoSkill},
		"secret":      {ready, echoSkill}, // not for the agent that calls
	}
}

// catalogue are the skills that the agent may use.
func catalogue() []string {
	names := slices.Sorted(maps.Keys(scripts()))
	return append(slices.DeleteFunc(names, func(name string) bool { return name == "secret" }), "book")
}

// folders writes the skills, and returns their folder.
func folders(dir string) (root string, err error) {
	root = filepath.Join(dir, "skills")
	for name, skill := range scripts() {
		for path, file := range rig.PythonSkill(name, skill.yaml, skill.script) {
			err = errors.Join(err, write(filepath.Join(root, path), file.Data))
		}
	}
	err = errors.Join(err, write(filepath.Join(root, "book", "SKILL.md"), []byte("---\nname: book\ndescription: has many pages\n---\n")))
	for i := range crowdSize {
		err = errors.Join(err, write(filepath.Join(root, "book", page(i)), []byte(content(i))))
	}
	return root, err
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// The pages of a skill that is only read, one for each of a crowd of callers.
const crowdSize = 100

func page(i int) string    { return fmt.Sprintf("references/%d.md", i) }
func content(i int) string { return fmt.Sprintf("Page %d, für dich.\n", i) }

// artifacts are the digests of what the skill files leaves.
func artifacts() map[string]string {
	big := make([]byte, 5<<20)
	for i := range big {
		big[i] = byte(i % 251)
	}
	return map[string]string{"big.bin": digest(big), "sub/ü.txt": digest([]byte("grüße"))}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
