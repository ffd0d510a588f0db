package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// MoodSkill does as it is told: it sleeps, speaks, fails or dies.
const MoodSkill = `import json, os, sys, time
args = json.loads(sys.stdin.readline())["arguments"]
print("in a mood", flush=True)
time.sleep(args["seconds"])
if args["mood"] == "fails":
    sys.exit(3)
if args["mood"] == "dies":
    os.kill(os.getpid(), 9)
print(json.dumps({"type": "skill/result", "success": True, "data": args["n"]}))
`

// Request is the nth call of the skill "mood": always the same for one seed.
func Request(seed uint64, n int) (id, line string) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	id = fmt.Sprintf("chaos-%d", n)
	mood := []string{"fine", "fine", "fine", "fails", "dies"}[r.IntN(5)]
	return id, fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":"mood","arguments":{"n":%d,"mood":%q,"seconds":%.2f}}`,
		id, n, mood, r.Float64())
}

// Judge compares what callers were told with what the journal says, and with what they are told again by any daemon. It returns
// the journal's records.
func (f *Fleet) Judge(seed uint64, calls int) []control.Call {
	f.t.Helper()
	verdicts, sent, again := map[string]int{}, 0, 0
	all := f.records()
	byReq := map[string][]control.Call{}
	for _, call := range all {
		byReq[call.ReqID] = append(byReq[call.ReqID], call)
	}
	for n := range calls {
		id, _ := Request(seed, n)
		got := f.answers[id]
		if got.answer == nil {
			f.t.Errorf("%s: no answer", id)
			continue
		}
		verdicts[verdict(got.answer)]++
		sent += got.sent
		if len(byReq[id]) != 1 {
			f.t.Errorf("%s: %d records: %+v", id, len(byReq[id]), byReq[id])
		}
		f.recorded(id, n, got)
		if time.Since(got.at) > 8*time.Minute {
			continue // a request is the same again for ten minutes
		}
		again++
		if answer, _, err := f.any().Call(got.line); err != nil || Wire(answer) != Wire(got.answer) {
			f.t.Errorf("%s: the answer was %s, and sent again: %v, %s", id, Wire(got.answer), err, Wire(answer))
		}
	}
	if len(byReq) != calls {
		f.t.Errorf("%d requests are on record, want %d", len(byReq), calls)
	}
	f.t.Logf("soak: seed %d: %d calls, sent %d times until they were answered, %d kills, %d sent again at the end: %v", seed, calls, sent, len(f.dead), again, verdicts)
	return all
}

// recorded compares the answer that a caller got with the one on record.
func (f *Fleet) recorded(id string, n int, got answered) {
	f.t.Helper()
	var shown struct {
		Call   control.Call      `json:"call"`
		Answer *a2e.CallResponse `json:"answer"`
	}
	if err := json.Unmarshal([]byte(f.show(id, n)), &shown); err != nil {
		f.t.Errorf("%s: %v", id, err)
	}
	is, was := Wire(shown.Answer), Wire(got.answer)
	if is != was {
		f.t.Errorf("%s: the answer was %s, and the journal has %s", id, was, is)
	}
	if again := Wire(got.again); got.again != nil && again != was {
		f.t.Errorf("%s: the answer was %s, and at once sent again %s", id, was, again)
	}
	if shown.Call.Ended.IsZero() || shown.Call.ReqID != id {
		f.t.Errorf("%s: %+v", id, shown.Call)
	}
}

// records returns the calls on record.
func (f *Fleet) records() (all []control.Call) {
	f.t.Helper()
	r := Command(f.t, f.Bin, "", "calls", "list", "--limit", "0", "--json", "--url", f.any().URL)
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil {
		f.t.Fatalf("%v: %+v", err, r)
	}
	return all
}

// show is `hotcell calls show ID --json` for the first few, and the same from a daemon itself for the rest.
func (f *Fleet) show(id string, n int) string {
	f.t.Helper()
	if n >= 12 {
		return Get(f.t, f.any().URL+"/v1/calls/"+id)
	}
	r := Command(f.t, f.Bin, "", "calls", "show", id, "--json", "--url", f.any().URL)
	if r.Exit != 0 {
		f.t.Errorf("calls show %s: %+v", id, r)
	}
	return r.Stdout
}

// Wire is an answer as callers see it.
func Wire(answer *a2e.CallResponse) string {
	b, err := json.Marshal(answer)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func verdict(answer *a2e.CallResponse) string {
	if answer.Error == nil {
		return "ok"
	}
	return string(answer.Error.Code) + "/" + answer.Error.Reason()
}
