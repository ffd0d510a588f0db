package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// awkward are texts that somebody has to lose a byte of.
func awkward() map[string]string {
	return map[string]string{
		"line ends":    "one\r\ntwo\rthree\n\n\tfour  \n\n",
		"scripts":      "grüße 日本語 🚀 \u202e מילה e\u0301 \u2028\u2029 \ufeff \u200b",
		"markup":       "---\nname: x\n---\n</script> <!-- &amp; \\u0041 \\ \" ' ` {{x}} ${x} %s\n```\n",
		"no line end":  "x",
		"nearly empty": " ",
	}
}

// TestWhatIsWrittenIsReadBack: what is written over REST is read back to the byte, through whichever door.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	d := startOpen(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	through := map[string]caller{}
	for _, column := range doorsOf() {
		if column.needs == "" && column.name != "A2E unix socket" { // who comes through it is known, and another one than nobody
			through[column.name] = column.open(t, d)
		}
	}
	for name, text := range awkward() {
		skill, path := noted(name)
		draft := map[string]any{"name": skill, "description": "Holds a text.", "body": "# " + text, "files": map[string]string{path: text}}
		if err := d.send(ctx, "POST", "/api/v1/custom-skills", draft); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, text := range awkward() {
		skill, path := noted(name)
		var one struct {
			Data struct{ Skill struct{ Body string } }
		}
		var file struct{ Data struct{ Content string } }
		for into, at := range map[any]string{&one: "/api/v1/skills/" + skill, &file: "/api/v1/skills/" + skill + "/files/" + url.PathEscape(path)} {
			if err := d.ask(ctx, "GET", at, into); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
		}
		if one.Data.Skill.Body != "# "+text || file.Data.Content != text {
			t.Errorf("%s over REST: %q, %q", name, one.Data.Skill.Body, file.Data.Content)
		}
		for door, call := range through {
			read(ctx, t, door, call, skill, "", "# "+text)
			read(ctx, t, door, call, skill, path, text)
		}
	}
}

// noted is the skill that holds a text, and its file that does.
func noted(name string) (skill, path string) {
	skill = strings.ReplaceAll(name, " ", "-")
	return skill, "notes/über " + skill + ".md"
}

// send writes something over REST.
func (d *daemon) send(ctx context.Context, method, path string, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return err
}

// read reads a file with the skill tool; "" is what it reads where none is named.
func read(ctx context.Context, t *testing.T, door string, through caller, skill, file, want string) {
	t.Helper()
	args := map[string]any{"action": "read", "name": skill}
	if file != "" {
		args["filename"] = file
	}
	got, err := through(ctx, call{Skill: "skill", Args: args})
	for err == nil && got.Code == "unknown_skill" { // a door in a process of its own hears of it a moment later
		if err = pause(ctx); err == nil {
			got, err = through(ctx, call{Skill: "skill", Args: args})
		}
	}
	if err != nil || got.Code != "" {
		t.Errorf("%s reads %s %s: %s %v", door, skill, file, got.Code, err)
		return
	}
	data, _ := plain(got).Data.(map[string]any)
	if data["content"] != want {
		t.Errorf("%s reads %s %s: %q, want %q", door, skill, file, fmt.Sprint(data["content"]), want)
	}
}
