package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Fifty at once over the socket all end right; TestMain sees to it that nothing of them is left.
func TestFiftyCallsAtOnce(t *testing.T) {
	d := serve(t, binary(t))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			id := fmt.Sprintf("c%d", i)
			answer, events, err := d.Call(`{"type":"skill/call/req","id":"` + id + `","name":"code_review","arguments":{"code":"import os\n"}}`)
			if err != nil || answer.Error != nil {
				t.Errorf("%s: %v, %+v", id, err, answer)
				return
			}
			data, _ := json.Marshal(answer.Data.Data)
			if answer.ReqID != id || events == 0 || !strings.Contains(string(data), "unused-import") {
				t.Errorf("%s: req_id %s, %d events, data %s", id, answer.ReqID, events, data)
			}
		})
	}
	wg.Wait()
	metrics := get(t, d.URL+"/metrics")
	for _, want := range []string{
		`hotcell_calls_total{code="ok",door="socket",reason="",skill="code-review"} 50`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s:\n%s", want, grep(metrics, "hotcell_calls_total"))
		}
	}
	testutil.Poll(t, time.Minute, func() bool {
		m := get(t, d.URL+"/metrics")
		return strings.Contains(m, "hotcell_cells_created_total 50") && strings.Contains(m, "hotcell_cells_destroyed_total 50")
	})
}

// A call is seen and cancelled from outside, and its caller is told so.
func TestCallsAreListedAndCancelled(t *testing.T) {
	dir := t.TempDir()
	skill := filepath.Join(dir, "waits")
	for name, text := range map[string]string{
		"SKILL.md": "---\nname: waits\ndescription: waits\n---\n", "main.py": "import time\ntime.sleep(300)\n",
	} {
		if err := os.MkdirAll(skill, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(skill, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := binary(t)
	d := serve(t, bin, "HOTCELL_SKILLS="+dir)
	var wg sync.WaitGroup
	wg.Go(func() {
		answer, _, err := d.Call(`{"type":"skill/call/req","id":"w1","name":"waits","arguments":{}}`)
		if err != nil || answer.Error == nil || answer.Error.Reason() != a2e.ReasonCancelled {
			t.Errorf("%v, %+v", err, answer)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, d.URL+"/v1/calls/w1"), `"Running"`) })
	if r := command(t, bin, "", "calls", "list", "--url", d.URL); r.Exit != 0 || !strings.Contains(r.Stdout, "waits") || !strings.Contains(r.Stdout, "Running") {
		t.Errorf("calls list: %+v", r)
	}
	if r := command(t, bin, "", "calls", "cancel", "w1", "--url", d.URL); r.Exit != 0 {
		t.Errorf("calls cancel: %+v", r)
	}
	wg.Wait()
	if r := command(t, bin, "", "calls", "show", "w1", "--url", d.URL); r.Exit != 0 || !strings.Contains(r.Stdout, "Canceled") {
		t.Errorf("calls show: %+v", r)
	}
	if r := command(t, bin, "", "calls", "cancel", "w1", "--url", d.URL); r.Exit == 0 || !strings.Contains(r.Stderr, "ended") {
		t.Errorf("cancelling again: %+v", r)
	}
}

// Whoever hangs up on the socket cancels its call.
func TestHangingUpCancels(t *testing.T) {
	d := serve(t, binary(t))
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, `{"type":"skill/call/req","id":"h1","name":"data-profile","arguments":{"csv":"`+strings.Repeat(`a,b,c\n`, 200_000)+`"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, d.URL+"/v1/calls/h1"), `"Running"`) })
	conn.Close()
	testutil.Poll(t, time.Minute, func() bool { return strings.Contains(get(t, d.URL+"/v1/calls/h1"), `"Canceled"`) })
}

func grep(text, word string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
