package broker

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

func TestTheRealKeyIsAddedOutside(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	_, c := r.grant(askFor(policies.LLM{}))
	q := post(t, "/v1/chat/completions", chatBody)
	for _, name := range []string{
		"Cookie", "X-Forwarded-For", "Forwarded", "X-Real-Ip", "Openai-Organization", "Openai-Project", "X-Api-Key", "Proxy-Authorization",
		"X-Stainless-Lang", "Idempotency-Key", "Referer", "Te", "Via", "Api-Key", "X-Goog-Api-Key",
	} {
		q.Header.Set(name, "from the cell")
	}
	q.Header.Set("Openai-Beta", "assistants=v2")
	q.Host = "evil.example"
	got := r.do(c, q)
	if got.status != http.StatusOK || got.body != chatAnswer {
		t.Fatalf("got %+v", got)
	}
	at := r.requests()[0]
	want := http.Header{
		"Authorization": {"Bearer " + realKey}, "Content-Type": {"application/json"}, "User-Agent": {"hotcell"},
		"Accept-Encoding": {"identity"}, "Openai-Beta": {"assistants=v2"}, "Content-Length": at.header["Content-Length"],
	}
	if diff := cmp.Diff(want, at.header); diff != "" {
		t.Error(diff)
	}
	if at.path != "/v1/chat/completions" || strings.Contains(at.host, "evil") {
		t.Errorf("the provider got %+v", at)
	}
	entry := r.diary.last(t)
	delete(entry, "ms")
	wantEntry := map[string]any{
		"provider": "main", "model": "small", "endpoint": "/v1/chat/completions", "status": 200,
		"bytes": int64(len(at.body) + len(chatAnswer)), "tokens_in": int64(7), "tokens_out": int64(5),
	}
	if diff := cmp.Diff(wantEntry, entry); diff != "" {
		t.Error(diff)
	}
}

func TestAnthropicHasItsOwnHeaders(t *testing.T) {
	r := newRig(t, llm.Anthropic, answerWith(`{"type":"message","usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":2}}`))
	_, c := r.grant(askFor(policies.LLM{}))
	q := post(t, "/v1/messages?beta=true", `{"model":"small","max_tokens":10,"messages":[]}`)
	q.Header.Del("Authorization")
	q.Header.Set("X-Api-Key", token)
	q.Header.Set("Anthropic-Beta", "some-beta")
	if got := r.do(c, q); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	at := r.requests()[0]
	if at.header.Get("X-Api-Key") != realKey || at.header.Get("Authorization") != "" || at.header.Get("Anthropic-Version") != "2023-06-01" ||
		at.header.Get("Anthropic-Beta") != "some-beta" || at.path != "/v1/messages" || at.query != "beta=true" {
		t.Errorf("the provider got %+v", at)
	}
	if e := r.diary.last(t); e["tokens_in"] != int64(7) || e["tokens_out"] != int64(2) {
		t.Errorf("audit %+v", e)
	}
}

// What a call has no right to never gets to the provider, and the refusal says why.
func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(q *http.Request)
		path   string
		body   string
		status int
		reason string
	}{
		"another call's token":  {func(q *http.Request) { q.Header.Set("Authorization", "Bearer hc-ffff") }, "", "", 403, "token"},
		"no token":              {func(q *http.Request) { q.Header.Del("Authorization") }, "", "", 403, "token"},
		"two tokens":            {func(q *http.Request) { q.Header.Add("Authorization", "Bearer x") }, "", "", 403, "token"},
		"another model":         {nil, "", `{"model":"huge"}`, 403, "model"},
		"a pattern as model":    {nil, "", `{"model":"*"}`, 403, "model"},
		"half a letter":         {nil, "", `{"model":"big-\ud800"}`, 400, "body"},
		"model in other case":   {nil, "", `{"model":"Small"}`, 403, "model"},
		"another path":          {nil, "/v1/files", chatBody, 403, "endpoint"},
		"the provider's root":   {nil, "/", chatBody, 403, "endpoint"},
		"another kind's path":   {nil, "/v1/messages", chatBody, 403, "endpoint"},
		"escaped path":          {nil, "/v1/chat%2Fcompletions", chatBody, 403, "endpoint"},
		"escaped letter":        {nil, "/v1/%63hat/completions", chatBody, 403, "endpoint"},
		"dots":                  {nil, "/v1/files/../chat/completions", chatBody, 403, "endpoint"},
		"two slashes":           {nil, "/v1//chat/completions", chatBody, 403, "endpoint"},
		"query":                 {nil, "/v1/chat/completions?x=1", chatBody, 403, "endpoint"},
		"method":                {func(q *http.Request) { q.Method = http.MethodDelete }, "", "", 403, "endpoint"},
		"get":                   {func(q *http.Request) { q.Method = http.MethodGet }, "", "", 403, "endpoint"},
		"upgrade":               {func(q *http.Request) { q.Header.Set("Connection", "Upgrade"); q.Header.Set("Upgrade", "websocket") }, "", "", 403, "upgrade"},
		"packed":                {func(q *http.Request) { q.Header.Set("Content-Encoding", "gzip") }, "", "", 400, "content_type"},
		"form":                  {func(q *http.Request) { q.Header.Set("Content-Type", "multipart/form-data") }, "", "", 400, "content_type"},
		"key twice":             {nil, "", `{"model":"small","model":"huge"}`, 400, "body"},
		"key twice, escaped":    {nil, "", `{"model":"small","mod\u0065l":"huge"}`, 400, "body"},
		"key in other case":     {nil, "", `{"model":"small","Model":"huge"}`, 400, "body"},
		"key twice within":      {nil, "", `{"model":"small","stream":true,"stream_options":{"include_usage":true,"include_usage":false}}`, 400, "body"},
		"no model":              {nil, "", `{"messages":[]}`, 400, "body"},
		"model is no text":      {nil, "", `{"model":["small"]}`, 400, "body"},
		"no object":             {nil, "", `["small"]`, 400, "body"},
		"null":                  {nil, "", `null`, 400, "body"},
		"no JSON":               {nil, "", `{"model":`, 400, "body"},
		"two values":            {nil, "", `{"model":"small"}{"model":"huge"}`, 400, "body"},
		"not UTF-8":             {nil, "", "{\"model\":\"small\",\"a\":\"\xff\"}", 400, "body"},
		"deep":                  {nil, "", `{"model":"small","a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "body"},
		"large":                 {nil, "", `{"model":"small","a":"` + strings.Repeat("a", maxBody) + `"}`, 413, "body"},
		"negative output":       {nil, "", `{"model":"small","max_tokens":-1}`, 400, "body"},
		"fractional output":     {nil, "", `{"model":"small","max_tokens":1e1}`, 400, "body"},
		"huge output":           {nil, "", `{"model":"small","max_tokens":99999999999999}`, 400, "body"},
		"more output than left": {nil, "", `{"model":"small","max_tokens":1000001}`, 403, "tokens"},
		"many choices":          {nil, "", `{"model":"small","max_tokens":100000,"n":11}`, 403, "tokens"},
		"outlives the call":     {nil, "/v1/responses", `{"model":"small","background":true}`, 400, "body"},
		"search at provider":    {nil, "/v1/responses", `{"model":"small","tools":[{"type":"web_search"}]}`, 400, "body"},
		"search in chats":       {nil, "", `{"model":"small","web_search_options":{}}`, 400, "body"},
		"remote tools":          {nil, "/v1/responses", `{"model":"small","tools":[{"type":"mcp","server_url":"https://x"}]}`, 400, "body"},
		"remote tools, hidden":  {nil, "/v1/responses", `{"model":"small","tools":[{"type":"mcp","server_url":"https://x","Type":"function"}]}`, 400, "body"},
		"a tool of no type":     {nil, "", `{"model":"small","tools":[{"google_search":{}}]}`, 400, "body"},
		"a tool that is null":   {nil, "", `{"model":"small","tools":[null]}`, 400, "body"},
		"recording by address":  {nil, "", `{"model":"small","messages":[{"content":[{"type":"audio_url","audio_url":{"url":"https://x"}}]}]}`, 400, "body"},
		"picture in other case": {nil, "", `{"model":"small","messages":[{"content":[{"type":"image_url","Image_URL":{"Url":"https://x"}}]}]}`, 400, "body"},
		"document by address":   {nil, "", `{"model":"small","messages":[{"content":[{"type":"file","file":{"file_id":"https://x"}}]}]}`, 400, "body"},
		"pictures to embed":     {nil, "/v1/embeddings", `{"model":"small","input":[{"image":"https://x"}]}`, 400, "body"},
		"search by a key":       {nil, "", `{"model":"small","search_parameters":{"mode":"on"}}`, 400, "body"},
		"another preset":        {nil, "", `{"model":"small","preset":"x"}`, 400, "body"},
		"other credentials":     {nil, "", `{"model":"small","Vertex_credentials":"x"}`, 400, "body"},
		"key with a blank":      {nil, "", `{"model":"small","models ":["huge"]}`, 400, "body"},
		"picture by address":    {nil, "", `{"model":"small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/?secret"}}]}]}`, 400, "body"},
		"other models too":      {nil, "", `{"model":"small","models":["huge"]}`, 400, "body"},
		"another address":       {nil, "", `{"model":"small","Api_Base":"https://x"}`, 400, "body"},
		"many items":            {nil, "", `{"model":"small","a":[` + strings.Repeat("[],", maxItems/2) + `[]]}`, 400, "body"},
		"file by address":       {nil, "/v1/responses", `{"model":"small","input":[{"content":[{"type":"input_file","file_url":"https://x"}]}]}`, 400, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
			_, c := r.grant(askFor(policies.LLM{}))
			path, body := "/v1/chat/completions", chatBody
			if tt.path != "" {
				path = tt.path
			}
			if tt.body != "" {
				body = tt.body
			}
			q := post(t, path, body)
			if tt.change != nil {
				tt.change(q)
			}
			refusedFor(t, r.do(c, q), tt.status, tt.reason)
			if n := len(r.requests()); n > 0 {
				t.Errorf("the provider got %d requests", n)
			}
			if e := r.diary.last(t); e["reason"] != tt.reason || e["status"] != tt.status {
				t.Errorf("audit %+v", e)
			}
			if got := r.do(c, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
				t.Errorf("an ordinary request after it: %+v", got)
			}
		})
	}
}

func TestAnthropicRefusalsHaveItsShape(t *testing.T) {
	r := newRig(t, llm.Anthropic, answerWith("{}"))
	_, c := r.grant(askFor(policies.LLM{}))
	for body, reason := range map[string]string{
		`{"model":"huge"}`: "model",
		`{"model":"small","mcp_servers":[{"url":"https://x"}]}`:                            "body",
		`{"model":"small","tools":[{"type":"web_fetch_20250910"}]}`:                        "body",
		`{"model":"small","messages":[{"content":[{"source":{"type":"url","url":"h"}}]}]}`: "body",
	} {
		got := r.do(c, post(t, "/v1/messages", body))
		var e struct {
			Type  string
			Error struct{ Type, Message, Code string }
		}
		if err := json.Unmarshal([]byte(got.body), &e); err != nil || e.Type != "error" || e.Error.Code != reason || e.Error.Type == "" {
			t.Errorf("%s: %s", body, got.body)
		}
	}
	if n := len(r.requests()); n > 0 {
		t.Errorf("the provider got %d requests", n)
	}
}

// What a model said a tool should be asked, and tools that the cell answers, are nobody's reach into the network.
func TestOrdinaryContentIsNotRefused(t *testing.T) {
	r := newRig(t, llm.Anthropic, answerWith("{}"))
	_, c := r.grant(askFor(policies.LLM{}))
	for _, body := range []string{
		`{"model":"small","tools":[{"name":"a","input_schema":{"type":"object","properties":{"url":{"type":"string"}}}},{"type":"custom","name":"b"},{"type":"bash_20250124","name":"bash"}]}`,
		`{"model":"small","messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"type":"url","url":"https://x"}}]}]}`,
		`{"model":"small","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}],"tools":null}`,
	} {
		if got := r.do(c, post(t, "/v1/messages", body)); got.status != http.StatusOK {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestModelsAreThoseOfTheGrant(t *testing.T) {
	const list = `{"object":"list","data":[{"id":"small"},{"id":"huge"},{"id":"big-1","owned_by":"x"},7]}`
	for name, tt := range map[string]struct {
		kind   llm.Kind
		models []string
		wish   string
		want   []string
		asked  int
	}{
		"filtered":     {llm.OpenAI, []string{"small", "big-*"}, "", []string{"small", "big-1"}, 1},
		"by the skill": {llm.OpenAI, []string{"small", "big-*"}, "big-1", []string{"big-1"}, 0},
		"a pattern":    {llm.OpenAI, []string{"small", "big-*"}, "big-*", []string{"big-1"}, 1},
		"all named":    {llm.OpenAI, []string{"small", "tiny"}, "", []string{"small", "tiny"}, 0},
		"anthropic":    {llm.Anthropic, []string{"small"}, "", []string{"small"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.kind, answerWith(list))
			r.provider.Models = tt.models
			_, c := r.grant(askFor(policies.LLM{Model: tt.wish}))
			q := post(t, "/v1/models", "")
			q.Method = http.MethodGet
			got := r.do(c, q)
			var l struct{ Data []struct{ ID string } }
			if err := json.Unmarshal([]byte(got.body), &l); err != nil {
				t.Fatalf("%+v: %v", got, err)
			}
			var ids []string
			for _, m := range l.Data {
				ids = append(ids, m.ID)
			}
			if !slices.Equal(ids, tt.want) || len(r.requests()) != tt.asked {
				t.Errorf("got %v with %d requests", ids, len(r.requests()))
			}
		})
	}
}

// Each list is in the audit, so there is an end of them also where the provider is not asked.
func TestListsOfModelsAreCounted(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith("{}"))
	r.provider.Models, r.provider.Limits.Requests = []string{"small"}, 1
	_, c := r.grant(askFor(policies.LLM{}))
	list := func() reply {
		q := post(t, "/v1/models", "")
		q.Method = http.MethodGet
		return r.do(c, q)
	}
	for range 3 + extraTries {
		if got := list(); got.status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
	}
	refusedFor(t, list(), 403, "requests")
	if n := len(r.requests()); n > 0 {
		t.Errorf("the provider got %d requests", n)
	}
}
