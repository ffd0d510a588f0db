package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// row is one attack.
type row struct {
	name  string
	what  string // what it does
	stops string // the control that stops it

	yaml    string   // skill.yaml, without run unless the row has its own way to start
	args    []string // a subcommand of skillbomb and its arguments; or
	python  string   // a script
	inputs  fs.FS    // files that are handed in; may be nil
	seconds int      // the call's deadline; 0: a minute
	id      string   // of the request; "": one is made
	needs   []string // parts of this machine beyond the engine, for testutil.Require

	code   a2e.Code // the verdict; "" for success
	reason string
	says   string                                  // part of the message
	check  func(t testing.TB, got told)            // a further look at the answer; may be nil
	hear   func(context.Context, *a2e.Event) error // takes each event as it comes; may be nil
	runsc  *verdict                                // what differs under gVisor; nil: nothing
	oci    *verdict                                // what differs with the driver oci; nil: nothing
	cold   string                                  // why no cell can wait for it; "": one can

	// victim is a subcommand that runs in a cell beside from before the attack, waits to be cancelled and says "up" with
	// facts about itself. The attack gets the facts as the argument "victim". The victim must outlive it.
	victim []string
	// neighbour is a subcommand that starts in a cell beside once the attack says "armed", and must succeed. The attack is
	// cancelled then.
	neighbour []string
}

// verdict is how a call must end.
type verdict struct {
	code   a2e.Code
	reason string
	says   string
	check  func(t testing.TB, got told)
	or     *verdict // another one that is as true, where the runtime leaves it to chance
	cold   string   // why no cell can wait for such a call; "": one can
}

// fits reports whether an answer's code and reason are those of the verdict.
func (v *verdict) fits(code a2e.Code, reason string) bool {
	return code == v.code && reason == v.reason
}

// verdict is the row's under a runtime and a driver.
func (r *row) verdict(runtime string) verdict {
	if strings.HasPrefix(runtime, "runsc") && r.runsc != nil {
		return *r.runsc
	}
	if rig.Engineless() && r.oci != nil {
		return *r.oci
	}
	if d, differs := differences()[r.name]; differs && rig.OnCluster() {
		return d.verdict
	}
	return verdict{code: r.code, reason: r.reason, says: r.says, check: r.check, cold: r.cold}
}

// skill is the name of the skill that runs the row. Rows that differ in their arguments alone share one.
func (r *row) skill() string {
	kind := "bomb"
	if r.python != "" {
		kind = "script"
	}
	sum := sha256.Sum256([]byte(r.yaml + "\x00" + r.python))
	return kind + "-" + hex.EncodeToString(sum[:6])
}

// request is the call of the row's skill.
func (r *row) request(facts any) *a2e.CallRequest {
	req := &a2e.CallRequest{Name: r.skill(), Arguments: map[string]any{}}
	if len(r.args) > 0 {
		req.Arguments["do"] = r.args
	}
	if facts != nil {
		req.Arguments["victim"] = facts
	}
	req.ID = r.id
	if s := deadline(r.seconds); s > 0 {
		req.Timeout = &s
	}
	return req
}

// bomb is a row that runs a subcommand of skillbomb with the default limits.
func bomb(args []string) *row { return &row{name: args[0], args: args} }

// skillsOf puts the skills of all rows into one file system; program is the file skillbomb.
func skillsOf(rows []row, program []byte) fs.FS {
	all := fstest.MapFS{}
	for i := range rows {
		one := []*row{&rows[i]}
		for _, beside := range [][]string{rows[i].victim, rows[i].neighbour} {
			if len(beside) > 0 {
				one = append(one, bomb(beside))
			}
		}
		for _, r := range one {
			all = rig.Merge(all, r.folder(program))
		}
	}
	return all
}

// folder is the row's skill as files.
func (r *row) folder(program []byte) fstest.MapFS {
	name := r.skill()
	files := rig.PythonSkill(name, r.yaml, r.python)
	if r.python == "" {
		delete(files, name+"/main.py")
		files[name+"/skillbomb"] = &fstest.MapFile{Data: program, Mode: 0o755}
		if !strings.Contains(r.yaml, "run:") {
			files[name+"/skill.yaml"].Data = []byte(r.yaml + "run: {image: '" + rig.PythonImage + "', command: [skillbomb]}\n")
		}
	}
	return files
}

// told is what a caller got: the events as they came, and the answer.
type told struct {
	events []a2e.Event
	answer *a2e.CallResponse
}

// verdict is the answer's code and reason, and "" twice for success.
func (c told) verdict() (a2e.Code, string) {
	if c.answer.Error == nil {
		return "", ""
	}
	return c.answer.Error.Code, c.answer.Error.Reason()
}

// into decodes the result's data.
func (c told) into(t testing.TB, v any) {
	t.Helper()
	b, err := json.Marshal(c.answer.Data.Data)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("data %.200s: %v", b, err)
	}
}

// messages are the texts of the log events.
func (c told) messages() []string {
	var all []string
	for _, ev := range c.events {
		if s, ok := ev.Data["message"].(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// report is what skillbomb says of its tries: how each ended ("EPERM", "refused: ...", "done"), and which got through what
// should have stopped it.
type report struct {
	Tried   map[string]string `json:"tried"`
	Through []string          `json:"through"`
}

// held makes sure that an attack made at least so many tries and that none got through.
func held(tries int) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		var r report
		got.into(t, &r)
		if len(r.Tried) < tries {
			t.Errorf("%d things were tried, want at least %d: %v", len(r.Tried), tries, r.Tried)
		}
		for _, name := range r.Through {
			t.Errorf("%s got through: %s", name, r.Tried[name])
		}
	}
}

// heldBut is [held] for a runtime under which some things do get through, to no avail: they reach that runtime's own kernel
// and nobody else.
func heldBut(tries int, but ...string) *verdict {
	return &verdict{check: func(t testing.TB, got told) {
		t.Helper()
		var r report
		got.into(t, &r)
		r.Through = slices.DeleteFunc(r.Through, func(name string) bool { return slices.Contains(but, name) })
		if len(r.Tried) < tries || len(r.Through) > 0 {
			t.Errorf("%d things were tried, want at least %d; got through: %q", len(r.Tried), tries, r.Through)
		}
	}}
}

// tooMuch is the verdict under a runtime whose kernel is a part of the cell, and dies of the cell's memory with it.
var tooMuch = &verdict{code: a2e.OutOfMemory}

// noted makes sure that these words about its end stand beside the result.
func noted(note string) func(testing.TB, told) {
	return func(t testing.TB, got told) {
		t.Helper()
		if !slices.ContainsFunc(got.messages(), func(s string) bool { return strings.Contains(s, note) }) {
			t.Errorf("no event tells of %s: %q", note, got.messages())
		}
	}
}

func (r *row) String() string { return fmt.Sprintf("%s: %s (%s)", r.name, r.what, r.stops) }
