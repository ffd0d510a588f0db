package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/tools"
)

// outer uses a tool that is another skill, one of the host's, and one that it was not granted.
const outer = `import json, os, urllib.request, urllib.error
def use(name, args):
    q = urllib.request.Request(os.environ["HOTCELL_TOOLS_URL"] + "/v1/tools/" + name, json.dumps(args).encode(),
        {"Authorization": "Bearer " + os.environ["HOTCELL_TOKEN"], "Content-Type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(q, timeout=50))
    except urllib.error.HTTPError as e:
        return json.load(e)
print(json.dumps([use("skill:inner", {"n": 21}).get("data"), use("calculator", {"expression": "6*7"})["data"]["result"], use("time", {})["code"]]))
`

const inner = `import json, sys
print(json.dumps(json.load(sys.stdin)["arguments"]["n"] * 2))
`

// forgedTools speaks the wall itself: it asks for a tool that it has, for others that it has not, and answers itself.
const forgedTools = `import json, os, sys
def put(**line):
    print(json.dumps(line), flush=True)
def wait(kind):
    while True:
        line = json.loads(sys.stdin.readline())
        if line["type"] == kind:
            return line
lease = wait("cell/lease")
wait("skill/call/req")
said = [[t["name"] for t in lease["tools"]]]
for i, (name, args) in enumerate([("calculator", {"expression": "6*7"}), ("read_file", {"path": "main.py"}), ("skill:inner", {"n": 1}), ("mcp:x/y", {})]):
    put(type="cell/tool", id=str(i), name=name, arguments=args)
    r = wait("cell/tool-result")
    said.append([r["id"], r["success"], r.get("code", "")])
put(type="cell/tool-result", id="0", success=True, data=1)
put(type="cell/lease", secrets={"A": "b"}, tools=[{"name": "read_file"}])
put(type="cell/tool", id="9", name="read_file", arguments={"path": "main.py"})
said.append(wait("cell/tool-result")["success"])
put(type="skill/result", success=True, data=said)
wait("cell/done")
`

// diary keeps what calls used.
type diary struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (d *diary) Write(e audit.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, e)
}

// newToolRig is a rig with one cell, whose skills may use tools.
func newToolRig(t *testing.T, kept audit.Log, folders ...fstest.MapFS) *rig.Rig {
	t.Helper()
	return newRoomyToolRig(t, kept, 1, rig.Options{}, folders...)
}

// newRoomyToolRig has more cells, and whatever else a test needs.
func newRoomyToolRig(t *testing.T, kept audit.Log, cells int, opts rig.Options, folders ...fstest.MapFS) *rig.Rig {
	t.Helper()
	box := tools.NewBox(tools.BoxOptions{})
	t.Cleanup(box.Close)
	lib, err := skills.LoadWith([]skills.Source{{Label: skills.SourceProject, FS: rig.Merge(folders...), Path: "rig"}}, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r *rig.Rig
	gate := tools.New(tools.Options{Box: box, Skills: lib, Log: kept, Calls: func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		return r.Call(ctx, who, req, nil)
	}})
	opts.Adjust = func(c *executor.Config) {
		c.Skills, c.Services, c.MaxCells = lib, []service.Service{gate}, cells
	}
	r = newRig(t, opts)
	return r
}

// A skill uses another one, in a cell of its own, though every cell is taken by the one around it.
func TestASkillUsesAnother(t *testing.T) {
	kept := &diary{}
	r := newToolRig(t, kept, rig.PythonSkill("outer", "tools: ['skill:inner', calculator]\n", outer), rig.PythonSkill("inner", "", inner))
	got := ask(t.Context(), r, request("outer", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	if d := cmp.Diff([]any{42.0, "42", "permission_denied"}, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if len(kept.entries) != 3 || kept.entries[0].Kind != "tool.call" || kept.entries[0].Call != got.answer.ID {
		t.Errorf("the audit has %v", kept.entries)
	}
}

func TestAForgerOfToolLines(t *testing.T) {
	yaml := "tools: [calculator]\nrun: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	r := newToolRig(t, audit.Nobody, rig.PythonSkill("forger", yaml, forgedTools), rig.PythonSkill("inner", "", inner))
	got := ask(t.Context(), r, request("forger", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	denied := func(id string) any { return []any{id, false, "permission_denied"} }
	want := []any{[]any{"calculator"}, []any{"0", true, ""}, denied("1"), denied("2"), denied("3"), false}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	said := fmt.Sprint(got.events)
	for _, kind := range []string{"cell/tool-result", "cell/lease"} {
		if !strings.Contains(said, kind) {
			t.Errorf("nobody was told of the line of type %s", kind)
		}
	}
}

// bareClient speaks the wall itself: it opens its model's port with another call's token, with its own, and with none.
const bareClient = `import base64, json, os, sys
def put(**line):
    print(json.dumps(line), flush=True)
def get(kinds):
    while True:
        line = json.loads(sys.stdin.readline())
        if line["type"] in kinds:
            return line
def use(id, token):
    body = '{"model":"small","messages":[]}'
    put(type="cell/open", id=id, port="llm.openai")
    text = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s" % (token, len(body), body)
    put(type="cell/data", id=id, data=base64.b64encode(text.encode()).decode())
    got = b""
    while b"\r\n" not in got:
        line = get(["cell/data", "cell/close"])
        if line["id"] != id:
            continue
        if line["type"] == "cell/close":
            return line.get("error", "closed")
        got += base64.b64decode(line["data"])
    put(type="cell/close", id=id)
    return got.split(b"\r\n")[0].decode()
put(type="cell/ready", protocol=1)
lease = get(["cell/lease"])
get(["skill/call/req"])
said = [use(1, "` + foreignToken + `"), use(2, os.environ["HOTCELL_TOKEN"]), use(3, "")]
put(type="skill/result", success=True, data=said)
get(["cell/done"])
`

// A cell that has no runner uses a model over lines of its own, with its own token and no other.
func TestACellWithoutARunnerUsesAModel(t *testing.T) {
	u := newUpstream(t)
	b := models(t, u)
	yaml := "llm: {provider: openai}\nrun: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	r := newRig(t, rig.Options{
		Skills: rig.PythonSkill("bare", yaml, bareClient),
		Adjust: func(c *executor.Config) { c.Services, c.Models = []service.Service{b}, true },
	})
	got := ask(t.Context(), r, request("bare", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	if d := cmp.Diff([]any{"HTTP/1.1 403 Forbidden", "HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden"}, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
