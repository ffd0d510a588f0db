package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/store"
)

// What lies behind the pages of the console when they are measured: calls of a day, of so many skills that are there, one of which
// said very much, and what one principal may have of everything else.
const (
	consoleCalls  = 100_000
	consoleEvents = 1_000
	consoleAgents = 20
	consoleOwn    = 25
	consoleWishes = 25
)

// consolePage is a page that is measured, and a text that it has where it shows what it should.
type consolePage struct{ name, path, shows string }

// consoleCall is the call that said very much.
var consoleCall = consoleID(consoleCalls - 10)

func consoleID(i int) string { return fmt.Sprintf("01K%023d", i) }

func consolePages() []consolePage {
	return []consolePage{
		{"overview", "/console/", "bench-"},
		{"overview of a day", "/console/?window=24h", "bench-"},
		{"list of calls", "/console/calls", consoleID(consoleCalls - 1)},
		{"list of calls that failed", "/console/calls?verdict=failed", "/console/calls/"},
		{"list of calls of one skill", "/console/calls?skill=" + skillNumber(7), skillNumber(7)},
		{"one call with 1,000 events", "/console/calls/" + consoleCall, consoleCall},
		{"list of skills", "/console/skills", skillNumber(10)},
		{"one skill", "/console/skills/" + skillNumber(7), skillNumber(7)},
		{"form to try a skill", "/console/skills/" + skillNumber(7) + "/try", skillNumber(7)},
		{"list of custom skills", "/console/custom", ownName(0, 7)},
		{"list of agents", "/console/agents", "agent-7"},
		{"list of approvals", "/console/approvals", "wish-"},
		{"list of policies", "/console/policies", skillNumber(10)},
		{"list of images", "/console/images", "hotcell"},
		{"audit", "/console/audit", "/console/calls/"},
	}
}

func consoleRow(name string) string { return name + " of the console" }

// consoleSection measures the pages of a real daemon, over HTTP, as a browser asks for them.
func consoleSection(ctx context.Context, b *bench) (err error) {
	wanted := false
	for _, page := range consolePages() {
		wanted = wanted || b.wants("console", consoleRow(page.name))
	}
	if !wanted {
		return nil
	}
	dir, err := b.yard.folder()
	if err != nil {
		return err
	}
	b.say("console: writing %s calls", thousands(consoleCalls))
	l := &large{dir: filepath.Join(dir, "skills")}
	for i := range shippedSkills {
		if err := l.ship(i, "Does one thing of many, and does it well."); err != nil {
			return err
		}
	}
	if err := history(ctx, dir); err != nil {
		return err
	}
	d, err := b.serveIn(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.furnish(ctx); err != nil {
		return err
	}
	return b.pages(ctx, d)
}

// pages asks for each page in turn, as often as a race has rounds. One that fails is left out from then on.
func (b *bench) pages(ctx context.Context, d *daemon) error {
	took, out := map[string][]float64{}, map[string]bool{}
	for round := range 5*b.rounds + 1 {
		for _, page := range consolePages() {
			name := consoleRow(page.name)
			if out[name] || !b.wants("console", name) {
				continue
			}
			began := time.Now()
			err := d.page(ctx, page)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				b.out("console", name, round, err)
				out[name] = true
			case round > 0:
				took[name] = append(took[name], ms(time.Since(began)))
			}
		}
	}
	for _, page := range consolePages() {
		if name := consoleRow(page.name); !out[name] && len(took[name]) > 0 {
			b.report.add("console", name, unitMS, took[name]...)
		}
	}
	return nil
}

// history fills the journal of a data folder, through the code that fills it when calls are made.
func history(ctx context.Context, dir string) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	log, err := store.Open(ctx, store.Options{
		Path: filepath.Join(data, "hotcell.db"), Key: filepath.Join(data, "audit.key"), Sync: "off",
		Keep: store.Keep{Calls: 30 * 24 * time.Hour, Events: 7 * 24 * time.Hour, Artifacts: 7 * 24 * time.Hour, Max: 10 << 30},
	})
	if err != nil {
		return err
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range consoleCalls {
			next <- i
		}
	}()
	begin := time.Now().Add(-24 * time.Hour)
	err = together(ctx, 64, 64, func(ctx context.Context) error {
		var failed error
		for i := range next {
			if failed == nil {
				failed = past(ctx, log, begin, i)
			}
		}
		return failed
	})
	for i := range consoleEvents {
		event := fmt.Sprintf(`{"type":"skill/event","kind":"progress","req_id":"r","seq":%d,"data":{"pct":%d,"message":"step %d of many"}}`, i+1, i*100/consoleEvents, i)
		log.Say(consoleCall, i+1, false, json.RawMessage(event))
	}
	return errors.Join(err, log.Close())
}

// past journals one call that has ended.
func past(ctx context.Context, log *store.Store, begin time.Time, i int) error {
	dice := rand.New(rand.NewPCG(7, uint64(i)))
	at := begin.Add(time.Duration(i) * 24 * time.Hour / consoleCalls)
	r := control.Record{Call: control.Call{
		ID: consoleID(i), ReqID: fmt.Sprint("request-", i), Skill: skillNumber(dice.IntN(shippedSkills)), Principal: fmt.Sprint("principal-", dice.IntN(20)),
		Agent: fmt.Sprint("agent-", dice.IntN(50)), Door: []string{"mcp", "rest", "a2e"}[dice.IntN(3)], State: control.Queued, Accepted: at,
		Account: &control.Account{Policy: strings.Repeat("ab", 32), Image: "sha256:" + strings.Repeat("cd", 32), Driver: "docker"},
	}, Digest: "d", Instance: "bench"}
	if _, err := log.Accept(ctx, r, time.Now()); err != nil {
		return err
	}
	took := time.Duration(dice.ExpFloat64() * float64(time.Second))
	r.Started, r.Ended, r.State = at.Add(100*time.Millisecond), at.Add(100*time.Millisecond+took), control.Succeeded
	r.Usage = &control.Usage{MemoryPeakBytes: 40 << 20, CPUMS: 120, PIDsPeak: 4}
	r.Phases = []control.Phase{{Name: "plan", Took: time.Millisecond}, {Name: "start", From: time.Millisecond, Took: 99 * time.Millisecond}, {Name: "run", From: 100 * time.Millisecond, Took: took}}
	answer := a2e.CallResponse{Header: a2e.Header{ID: r.ID}, Data: &a2e.Result{Success: true, Data: strings.Repeat("x", 600), DurationMS: took.Milliseconds()}}
	if n := dice.IntN(100); n < 5 {
		r.State, r.Code = control.Failed, []a2e.Code{a2e.Timeout, a2e.SkillError, a2e.OutOfMemory, a2e.SandboxCrash, a2e.RuntimeError}[n]
		answer.Data, answer.Error = nil, &a2e.Error{Code: r.Code, Message: "it did not end well"}
	}
	if i == consoleCalls-10 {
		r.Events = consoleEvents
	}
	var err error
	if r.Answer, err = json.Marshal(&answer); err != nil {
		return err
	}
	_, err = log.End(ctx, r)
	return err
}

// furnish makes custom skills, agents and requests for approval.
func (d *daemon) furnish(ctx context.Context) error {
	type step struct {
		path string
		body map[string]any
	}
	var steps []step
	for k := range consoleOwn {
		steps = append(steps, step{"/api/v1/custom-skills", map[string]any{
			"name": ownName(0, k), "description": "What somebody knows about something.", "body": strings.Repeat("Do it well.\n", 50), "files": map[string]string{"references/more.md": "More about it.\n"},
		}})
	}
	for k := range consoleAgents {
		steps = append(steps, step{"/api/v1/agents", map[string]any{"name": fmt.Sprint("agent-", k)}})
	}
	steps = append(steps, step{"/api/v1/agents/agent-7/tools/manage_skill/enable", map[string]any{}})
	for k := range consoleWishes {
		steps = append(steps, step{"/v1/calls", map[string]any{"name": "manage_skill", "agent_id": "agent-7", "arguments": map[string]any{
			"action": "create", "name": fmt.Sprint("wish-", k), "description": "What an agent would like to keep.", "body": "Do it well.\n",
		}}})
	}
	for _, s := range steps {
		body, err := json.Marshal(s.body)
		if err != nil {
			return err
		}
		if _, err := fetch(ctx, http.MethodPost, d.url+s.path, body); err != nil {
			return err
		}
	}
	return nil
}

// page fetches a page and looks at whether it is the right one.
func (d *daemon) page(ctx context.Context, page consolePage) error {
	text, err := fetch(ctx, http.MethodGet, d.url+page.path, nil)
	if err == nil && (!bytes.Contains(text, []byte("</html>")) || !bytes.Contains(text, []byte(page.shows))) {
		err = fmt.Errorf("%s does not show %s", page.path, page.shows)
	}
	return err
}

// fetch makes a request and reads the answer, which has to be one of success.
func fetch(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %.200s", method, url, resp.Status, text)
	}
	return text, err
}
