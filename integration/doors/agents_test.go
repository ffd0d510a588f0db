package doors

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// turn is what an agent asks a model.
type turn struct {
	Messages []struct {
		Role    string
		Content string
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters map[string]any
		}
	}
}

// model is one that calls two skills, one of which fails, and then says what the last of them gave.
type model struct {
	mu    sync.Mutex
	turns []turn
	keys  []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked turn
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.turns, m.keys = append(m.turns, asked), append(m.keys, r.Header.Get("Authorization"))
	n := len(m.turns)
	m.mu.Unlock()
	use := func(name, arguments string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"t%d","type":"function","function":{"name":%q,"arguments":%q}}]}`, n, name, arguments)
	}
	said := asked.Messages[len(asked.Messages)-1].Content
	answer, err := json.Marshal("The skill said: " + said)
	message := fmt.Sprintf(`{"role":"assistant","content":%s}`, answer)
	switch n {
	case 1:
		message = use("fail", "{}")
	case 2:
		message = use("echo", `{"text":"grüße"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":%s}]}`, message)
	if err != nil {
		panic(err)
	}
}

// check looks at what the model was told.
func (m *model) check(t *testing.T) {
	t.Helper()
	if len(m.turns) != 3 {
		t.Fatalf("the model was asked %d times", len(m.turns))
	}
	found := false
	for _, tool := range m.turns[0].Tools {
		if tool.Function.Name == "echo" {
			found = fmt.Sprint(tool.Function.Parameters["required"]) == "[text]"
		}
	}
	if !found {
		t.Errorf("the skill echo is no tool: %+v", m.turns[0].Tools)
	}
	if failed := m.turns[1].Messages; !strings.Contains(failed[len(failed)-1].Content, "skill_error") {
		t.Errorf("the model was not told of the failure: %+v", failed)
	}
	for _, key := range m.keys {
		if key != "Bearer the-model-key" {
			t.Errorf("the model got the key %q", key)
		}
	}
}

// The examples of agents work as they are, against a model on loopback.
func TestAgentExamples(t *testing.T) {
	testutil.Require(t, "python3")
	testutil.Require(t, "node-clients")
	d := start(t)
	program, script := node(t, "../../docs/examples/agent_mcp.mjs")
	for name, tt := range map[string]struct {
		command []string
		env     []string
	}{
		"Python, REST":     {[]string{"python3", "-B", "../../docs/examples/agent_rest.py", "--file", "../../docs/examples/sample.py", "Say hello."}, []string{"HOTCELL_URL=" + d.url}},
		"Node, MCP, stdio": {[]string{program, script, "Say hello."}, []string{"HOTCELL=" + d.bin}},
		"Node, MCP, HTTP":  {[]string{program, script, "Say hello."}, []string{"HOTCELL_URL=" + d.url}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{}
			server := httptest.NewServer(m)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, tt.command[0], tt.command[1:]...)
			cmd.Env = slices.Concat(d.env, []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_API_KEY=the-model-key"}, tt.env)
			cmd.WaitDelay = time.Minute
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || !strings.HasPrefix(string(out), "The skill said: ") || !strings.Contains(string(out), "grüße") {
				t.Fatalf("%v: %s\n%s", err, out, stderr.String())
			}
			m.check(t)
			if !strings.Contains(stderr.String(), "calling echo") {
				t.Errorf("stderr: %s", stderr.String())
			}
		})
	}
}

// The example works without a key too, as docs/clients says: the model recites, the skill runs.
func TestAgentWithoutAKey(t *testing.T) {
	testutil.Require(t, "python3")
	d := startOpen(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	model := exec.CommandContext(ctx, "python3", "-B", "../../docs/examples/model.py", "../../docs/examples/agent-turns.json", "0")
	pipe, err := model.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = model.Process.Kill()
		_ = model.Wait()
	}()
	where, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil || !strings.HasPrefix(where, "OPENAI_BASE_URL=http://127.0.0.1:") {
		t.Fatalf("%q, %v", where, err)
	}
	cmd := exec.CommandContext(ctx, "python3", "-B", "../../docs/examples/agent_rest.py", "Review two lines of Python")
	cmd.Env = append(slices.Clone(d.env), strings.TrimSpace(where), "HOTCELL_URL="+d.url)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "Line 1 imports os") || !strings.Contains(said.String(), "code-review: Done") {
		t.Errorf("%v: %s\n%s", err, out, said.String())
	}
}
