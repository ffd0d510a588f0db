package console

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// soon bounds what a test asks of the daemon beside the browser.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// both are how flows are gone through: with scripts, and without.
func both() []look { return []look{{}, {width: narrow, dark: true, noScript: true}} }

// comes waits until a text can be read at an address.
func (s *sheet) comes(path, text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q at %s", text, path), fmt.Sprintf("location.pathname.startsWith(%q) && document.readyState === 'complete' && document.body.innerText.includes(%q)", path, text))
}

// A call that runs shows what it says as it says it, and is cancelled from its page.
func TestARunningCall(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			ctx := soon(t)
			c := d.as("")
			call, err := c.begin(ctx, fmt.Sprint("running-", time.Now().UnixNano()), map[string]any{"name": "ticker", "arguments": map[string]any{"n": 10000, "pause": 0.2}}, control.Running)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, d, "/console/calls/"+call.ID, l)
			s.shows("ticker")
			s.fits()
			if !l.noScript {
				s.until("new events come by themselves", `/tick [1-9]\d*/.test(document.querySelector("#events").innerText)`)
				s.settle()
				s.sound()
				s.judged()
			}
			s.shoot("call-running")
			s.send(`form[action$="/cancel"] button`)
			s.ends("canceled")
			if now, err := c.shown(ctx, call.ID); err != nil || now.State != control.Canceled {
				t.Errorf("the call is %s, %v", now.State, err)
			}
			s.canary()
			s.shoot("call-cancelled-from-its-page")
		})
	}
}

// A call is run again from its page, with the same arguments.
func TestRunAgain(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			first := d.seeded.calls["success"]
			s := open(t, d, d.seeded.call("success"), l)
			s.send(`form[action$="/again"] button`)
			s.until("another call", fmt.Sprintf(`location.pathname.startsWith("/console/calls/0") && !location.pathname.includes(%q)`, first))
			s.ends("200 sold")
			s.shows("2026-11", "chart.png")
			s.canary()
		})
	}
}

// ends waits until the call on the page has ended and says something, loading the page anew where there are no scripts.
func (s *sheet) ends(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(s.text(), text); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: %q does not come: %.2000s\nfaults: %q", s.where(), text, s.text(), s.heard())
		}
		if s.look.noScript {
			var path string
			s.eval("location.pathname", &path)
			s.visit(path)
		}
	}
}

// What a skill left is looked at and downloaded as a file, whatever it says that it is: no answer is one that a browser would run.
func TestArtifacts(t *testing.T) {
	d := openDaemon(t)
	ctx := soon(t)
	s := open(t, d, d.seeded.call("success")+"/file?name=chart.png", look{})
	s.until("the picture is drawn", `document.querySelector("main img")?.naturalWidth === 320`)
	s.visit(d.seeded.call("hostile") + "/file?name=picture.svg")
	s.canary()
	s.visit(d.seeded.call("hostile") + "/file?name=lies.png")
	s.canary()
	for _, name := range []string{"page.html", "picture.svg", "lies.png", "script.js", "mime.txt"} {
		for _, way := range []string{"download", "picture"} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+d.seeded.call("hostile")+"/"+way+"?name="+url.QueryEscape(name), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := plain.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			kind, saved := resp.Header.Get("Content-Type"), strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment")
			switch {
			case way == "download" && (resp.StatusCode != http.StatusOK || !saved):
				t.Errorf("%s of %s: %d, %q", way, name, resp.StatusCode, resp.Header.Get("Content-Disposition"))
			case resp.StatusCode == http.StatusOK && !saved && !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
				t.Errorf("%s of %s is %s", way, name, kind)
			}
			if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("X-Evil") != "" {
				t.Errorf("%s of %s: %v", way, name, resp.Header)
			}
		}
	}
	status, text, err := d.as("").send(ctx, http.MethodGet, d.seeded.call("success")+"/result", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(text), "by_region") {
		t.Errorf("the result: %d, %v", status, err)
	}
}

// A skill is tried from its page: the form says what is wrong with what was typed, and the call's page what became of it.
func TestTryIt(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			s := open(t, d, "/console/skills/monthly-report", l)
			s.press(`main a[href$="/try"]`)
			s.comes("/console/skills/monthly-report/try", "Call it")
			s.expectFailure("/try")
			field := `#try-fields input[name="` + "a.month" + `"]`
			var name string
			s.eval(`[...document.querySelectorAll("#try-fields input")].find(e => e.type !== "hidden")?.name ?? ""`, &name)
			field = `#try-fields input[name="` + name + `"]`
			s.eval(fmt.Sprintf(`(document.querySelector(%q).value = "", 1)`, field), nil)
			s.write(field, "November")
			s.send("#try-fields button.main")
			s.until("what is wrong", `document.querySelector("main [role=alert], main .fault")?.innerText.length > 0`)
			s.fits()
			s.shoot("try-refused")
			s.eval(fmt.Sprintf(`(document.querySelector(%q).value = "", 1)`, field), nil)
			s.write(field, "2026-09")
			s.send("#try-fields button.main")
			s.until("the call's page", `location.pathname.startsWith("/console/calls/0")`)
			s.ends("200 sold")
			s.shows("2026-09")
			s.canary()
			s.shoot("tried")
		})
	}
}

// A custom skill is written, checked while it is typed, changed, brought back and deleted.
func TestCustomSkills(t *testing.T) {
	d := openDaemon(t)
	for i, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			name := fmt.Sprintf("written-here-%d", i)
			s := open(t, d, "/console/custom/-/new", l)
			s.expectFailure("/console/custom/")
			s.write("#name", "Not A Name")
			s.write("#description", "Says hello. Use when somebody comes in.")
			if !l.noScript {
				s.until("it is checked while it is typed", `document.querySelector("#verdict").innerText.includes("can't be saved")`)
			}
			s.send(`#editor button[value="save"]`)
			s.until("the refusal", `document.querySelector("#verdict")?.innerText.includes("can't be saved")`)
			s.sound()
			s.shoot("custom-refused")
			s.eval(`(document.querySelector("#name").value = "", 1)`, nil)
			s.write("#name", name)
			s.send(`#editor button[value="save"]`)
			s.comes("/console/custom/"+name, "Says hello")
			s.press(`main a[href*="/edit"]`)
			s.comes("/console/custom/"+name+"/edit", "Edit "+name)
			s.write("#body", "\nOne more line.\n")
			s.send(`#editor button[value="save"]`)
			s.comes("/console/custom/"+name, "One more line.")
			s.press(`main a[href*="/changes"]`)
			s.comes("/console/custom/"+name+"/changes", "One more line.")
			s.sound()
			s.send(`form[action*="/restore"] button`)
			s.until("what was before", fmt.Sprintf(`location.pathname === "/console/custom/%s" && !document.body.innerText.includes("One more line.")`, name))
			s.press(`main a[href*="/delete"]`)
			s.comes("/console/custom/"+name+"/delete", "Delete "+name)
			s.send(`form[action*="/delete"] button.danger`)
			s.comes("/console/custom", "is deleted")
			s.fits()
		})
	}
}

// An agent is made, its tools and skills are switched, its list is saved, and it is deleted.
func TestAgents(t *testing.T) {
	d := openDaemon(t)
	for i, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			name := fmt.Sprintf("made-here-%d", i)
			s := open(t, d, "/console/agents", l)
			s.expectFailure("/console/agents")
			s.write("#name", "<b>not a name</b>")
			s.send(`form[action="/console/agents"] button.main`)
			s.until("the refusal", `document.querySelector("#fault")?.innerText.length > 0`)
			s.canary()
			s.eval(`(document.querySelector("#name").value = "", 1)`, nil)
			s.write("#name", name)
			s.send(`form[action="/console/agents"] button.main`)
			s.comes("/console/agents/", name)
			toggle := func(tool, want string) {
				t.Helper()
				button := fmt.Sprintf(`form:has(input[name="tool"][value=%q]) button[role=switch]`, tool)
				s.press(button)
				s.until(tool+" is "+want, fmt.Sprintf(`document.querySelector(%q)?.getAttribute("aria-checked") === %q`, button, want))
			}
			toggle("time", "true")
			skill := `form:has(input[name="slug"][value="time-arithmetic"]) button[role=switch]`
			s.press(skill)
			s.until("the skill and the skill tool are on", fmt.Sprintf(`document.querySelector(%q)?.getAttribute("aria-checked") === "true" && document.querySelector('form:has(input[name="tool"][value="skill"]) button').getAttribute("aria-checked") === "true"`, skill))
			s.sound()
			s.shoot("agent-switched")
			toggle("time", "false")
			s.send(`form[action$="/allowed"] button.main`)
			s.comes("/console/agents/", name)
			s.press("section details summary")
			s.press(`form[action$="/delete"] button.danger`)
			s.until("the agent is gone", fmt.Sprintf(`location.pathname === "/console/agents" && !document.querySelector("main table")?.innerText.includes(%q)`, name))
			s.visit(fmt.Sprintf("/console/agents/principal/%d/defaults", d.seeded.principal))
			s.send(`main form button.main`)
			s.comes("/console/agents/principal/", "Default skills")
			s.fits()
		})
	}
}

// Requests for approval are decided about by people.
func TestApprovals(t *testing.T) {
	d := openDaemon(t)
	for i, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			ctx := soon(t)
			for _, what := range []string{"approve", "deny"} {
				name := fmt.Sprintf("wished-for-%s-%d", what, i)
				answer, err := d.as("").call(ctx, map[string]any{"name": "manage_skill", "agent_id": "scribe", "arguments": map[string]any{
					"action": "create", "name": name, "description": "What an agent would like to keep.", "body": "Do it well.\n" + markdown(),
				}})
				if err != nil || answer.Error != nil {
					t.Fatal(err, answer)
				}
				s := open(t, d, "/console/approvals", l)
				s.shows(name)
				s.eval(fmt.Sprintf(`([...document.querySelectorAll("main table a")].find(a => a.innerText.includes(%q)).click(), 1)`, name), nil)
				s.comes("/console/approvals/", "Do it well.")
				s.canary()
				if what == "deny" {
					s.write("#why", "not now")
				}
				s.send(fmt.Sprintf(`form[action$=%q] button`, "/"+what))
				s.comes("/console/approvals", map[string]string{"approve": "approved", "deny": "denied"}[what])
				s.fits()
			}
			status, _, err := d.as("").send(ctx, http.MethodGet, fmt.Sprintf("/api/v1/custom-skills/wished-for-approve-%d", i), nil)
			if err != nil || status != http.StatusOK {
				t.Errorf("what was approved is not there: %d, %v", status, err)
			}
			if err := d.as("").ask(ctx, http.MethodDelete, fmt.Sprintf("/api/v1/custom-skills/wished-for-approve-%d", i), nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// The audit is verified from its page.
func TestAudit(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			s := open(t, d, "/console/audit", l)
			var head string
			s.eval(`document.querySelector("code.chain-head").innerText`, &head)
			s.write("#head", head)
			s.send(`form[action="/console/audit/verify"] button.main`)
			s.comes("/console/audit/verify", "The audit is as it was written")
			s.fits()
			s.shoot("audit-verified")
		})
	}
}

// The host is examined from its page.
func TestDoctor(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			s := open(t, d, "/console/doctor", l)
			if found := s.text(); strings.Contains(found, "Look again") {
				s.send(`form[action="/console/doctor"] button`)
			}
			s.ends("Look again")
			s.shows("docker")
			if !l.noScript {
				s.sound()
				s.judged()
			}
			s.shoot("doctor-examined")
		})
	}
}

// An image is pinned and its pin is taken away; a pull that can't work says why.
func TestImages(t *testing.T) {
	d := openDaemon(t)
	for _, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			s := open(t, d, "/console/images", l)
			s.expectFailure("/console/images")
			s.write("#ref", "hotcell/python:3")
			s.send(`button[formaction="/console/images/pin"]`)
			s.shows("hotcell/python:3")
			s.fits()
			s.shoot("images-pinned")
			s.visit("/console/images")
			s.write("#ref", "127.0.0.1:1/"+strings.Repeat("x", 60)+":1")
			s.send(`form[action="/console/images/pull"].stack button.main`)
			for deadline := time.Now().Add(patience); !strings.Contains(s.text(), "failed"); time.Sleep(200 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the pull does not end: %s", s.text())
				}
				s.visit("/console/images")
			}
			s.fits()
			s.canary()
			s.shoot("images-pull-failed")
			s.send(`form[action="/console/images/prune"] button`)
			s.comes("/console/images/prune", "What can go")
			s.fits()
			s.visit("/console/images")
			var ask bool
			if s.eval(`!!document.querySelector('form[action="/console/images/ask"]')`, &ask); ask {
				s.send(`form[action="/console/images/ask"] button`)
				s.comes("/console/images", "asked just now")
			}
		})
	}
}

// A bundle that was uploaded twice goes back to its first version from its page.
func TestRollBack(t *testing.T) {
	d := openDaemon(t)
	for i, l := range both() {
		t.Run(l.String(), func(t *testing.T) {
			name := fmt.Sprintf("uploaded-%d", i)
			for _, body := range []string{"The first body.\n", "The second body.\n"} {
				if err := d.upload(soon(t), name, body); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, d, "/console/skills/"+name, l)
			s.shows("The second body.", "current")
			s.send(`form[action*="/rollback"] button`)
			s.comes("/console/skills/"+name, "The first body.")
			s.sound()
		})
	}
}

// upload installs a bundle, as an operator does.
func (d *daemon) upload(ctx context.Context, name, body string) error {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	text := "---\nname: " + name + "\ndescription: Was uploaded. Use to look at versions.\n---\n" + body
	err := files.WriteHeader(&tar.Header{Name: name + "/SKILL.md", Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = files.Write([]byte(text))
	}
	if err = errors.Join(err, files.Close(), zipped.Close()); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, d.url+"/v1/skills/"+name, &packed)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/gzip")
	resp, err := plain.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if said, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode/100 != 2 {
		return fmt.Errorf("upload of %s: %s %s %w", name, resp.Status, said, err)
	}
	return nil
}
