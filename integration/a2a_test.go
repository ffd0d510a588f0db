package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// a2aTask is what these tests read of a task.
type a2aTask struct {
	ID, ContextID string
	Status        struct{ State string }
	Artifacts     []struct {
		ArtifactID string
		Parts      []struct{ Raw, Data any }
	}
	Metadata map[string]any
}

// a2a makes a request of HTTP+JSON.
func (d *daemon) a2a(t *testing.T, method, path, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.URL+"/a2a/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("Content-Type", "application/a2a+json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s, %v", method, path, resp.Status, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func (d *daemon) send(t *testing.T, message, configuration string) a2aTask {
	t.Helper()
	var answer struct{ Task a2aTask }
	d.a2a(t, http.MethodPost, "message:send", `{"message":{"messageId":"m","role":"ROLE_USER",`+message+`},"configuration":{`+configuration+`}}`, &answer)
	return answer.Task
}

// makerSkill leaves a file and a result.
const makerSkill = `open("/out/made.txt", "w").write("made")
print('{"type":"skill/result","success":true,"data":{"n":12345678901234567890}}')
`

// Tasks outlive the daemon: what had ended is as it was, what asked still asks, and what was at work has failed.
func TestA2ATasksSurviveAKill(t *testing.T) {
	bin := binary(t)
	env := "HOTCELL_SKILLS=" + skillFolder(t, map[string]string{"nap": napSkill, "maker": makerSkill})
	d := serve(t, bin, env, "HOTCELL__POOL__MAX=0")
	done := d.send(t, `"contextId":"a b/ü","metadata":{"skill_id":"maker"},"parts":[{"data":{}}]`, "")
	asked := d.send(t, `"parts":[{"text":"which was it?"}]`, "")
	slow := d.send(t, `"metadata":{"skill_id":"nap"},"parts":[{"data":{"seconds":300}}]`, `"returnImmediately":true`)
	if done.Status.State != "TASK_STATE_COMPLETED" || asked.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("got %+v and %+v", done, asked)
	}
	show := func(id string) (got a2aTask) {
		d.a2a(t, http.MethodGet, "tasks/"+id, "", &got)
		return got
	}
	testutil.Poll(t, time.Minute, func() bool { return show(slow.ID).Status.State == "TASK_STATE_WORKING" })
	d.Kill(t)
	d = serveIn(t, d.Dir, bin, env)

	again := show(done.ID)
	before, _ := json.Marshal(done)
	after, _ := json.Marshal(again)
	if again.ContextID != "a b/ü" || len(again.Artifacts) != 2 || string(before) != string(after) {
		t.Errorf("it was %s and is %s", before, after)
	}
	testutil.Poll(t, time.Minute, func() bool { return show(slow.ID).Status.State == "TASK_STATE_FAILED" })
	if m := show(slow.ID).Metadata; m["error_code"] != "sandbox_crash" || m["reason"] != "supervisor_restart" {
		t.Errorf("got %v", m)
	}
	if got := show(asked.ID); got.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("got %+v", got)
	}
	if got := d.send(t, `"taskId":"`+asked.ID+`","metadata":{"skill":"maker"},"parts":[{"data":{}}]`, ""); got.ID != asked.ID || got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("got %+v", got)
	}
	var list struct {
		Tasks     []a2aTask
		TotalSize int
	}
	d.a2a(t, http.MethodGet, "tasks?status=TASK_STATE_COMPLETED", "", &list)
	if list.TotalSize != 2 || list.Tasks[0].ID != asked.ID || list.Tasks[1].ID != done.ID {
		t.Errorf("got %+v", list)
	}
}

// A question that is cancelled is on record as cancelled, and a task at work is really stopped.
func TestA2ACancel(t *testing.T) {
	d := serve(t, binary(t), "HOTCELL_SKILLS="+skillFolder(t, map[string]string{"nap": napSkill}), "HOTCELL__POOL__MAX=0")
	asked := d.send(t, `"parts":[{"text":"which was it?"}]`, "")
	slow := d.send(t, `"metadata":{"skill_id":"nap"},"parts":[{"data":{"seconds":300}}]`, `"returnImmediately":true`)
	testutil.Poll(t, time.Minute, func() bool { return count(owned(d.ID(t)), "cell running") == 1 })
	for _, id := range []string{asked.ID, slow.ID} {
		var got a2aTask
		d.a2a(t, http.MethodPost, "tasks/"+id+":cancel", "", &got)
		if got.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("got %+v", got)
		}
		d.a2a(t, http.MethodGet, "tasks/"+id, "", &got)
		if got.Status.State != "TASK_STATE_CANCELED" || got.Metadata["callId"] == nil {
			t.Errorf("got %+v", got)
		}
	}
	testutil.Poll(t, time.Minute, func() bool { return count(owned(d.ID(t)), "cell running") == 0 })
}
