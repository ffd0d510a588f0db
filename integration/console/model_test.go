package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
)

// turn is what a model says, or which tools it wants.
type turn struct {
	Text  string
	Calls [][2]json.RawMessage // name and arguments
}

// recite starts a model that answers from testdata, and returns where it is. Which turn it is tells the number of the model's
// messages in the request.
func recite() (string, error) {
	text, err := os.ReadFile("testdata/model-turns.json")
	if err != nil {
		return "", err
	}
	var turns []turn
	if err := json.Unmarshal(text, &turns); err != nil {
		return "", err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := 0
		for _, m := range asked.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range turns[min(n, len(turns)-1)].chunks(n) {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	atEnd(func() error { server.Close(); return nil })
	return server.URL + "/v1", nil
}

func (t turn) chunks(n int) (all []string) {
	const head = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"recital","choices":`
	if t.Text != "" {
		said, _ := json.Marshal(t.Text)
		all = append(all, head+fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, said))
	}
	finish := "stop"
	for i, call := range t.Calls {
		finish = "tool_calls"
		arguments, _ := json.Marshal(string(call[1]))
		all = append(all, head+fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":%d,"id":"call%d%d","type":"function","function":{"name":%s,"arguments":%s}}]},"finish_reason":null}]}`,
			i, n, i, call[0], arguments))
	}
	return append(all, head+fmt.Sprintf(`[{"index":0,"delta":{},"finish_reason":%q}]}`, finish),
		head+`[],"usage":{"prompt_tokens":240,"completion_tokens":31,"total_tokens":271}}`)
}
