package a2ahost

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestFaultsOfJSONRPC(t *testing.T) {
	r := open(t, usual())
	unknown := "j" + strings.Repeat("0", 32)
	done := sent(t, r.client(a2a.TransportProtocolJSONRPC, ""), asks("echo"))
	echo := `"metadata":{"skill_id":"echo"}`
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := []struct {
		name, body string
		code       int
		id, reason string
		field      string
	}{
		{"no JSON", `{"jsonrpc":`, -32700, "null", "PARSE_ERROR", ""},
		{"nothing", ` `, -32700, "null", "PARSE_ERROR", ""},
		{"two values", `{} {}`, -32700, "null", "PARSE_ERROR", ""},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]`, -32600, "null", "INVALID_REQUEST", ""},
		{"a text", `"x"`, -32600, "null", "INVALID_REQUEST", ""},
		{"nested without end", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":` + deep + `}`, -32600, "null", "INVALID_REQUEST", ""},
		{"no version", `{"id":1,"method":"ListTasks"}`, -32600, "1", "INVALID_REQUEST", ""},
		{"another version", `{"jsonrpc":"1.0","id":"x","method":"ListTasks"}`, -32600, `"x"`, "INVALID_REQUEST", ""},
		{"no id", `{"jsonrpc":"2.0","method":"ListTasks"}`, -32600, "null", "INVALID_REQUEST", ""},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`, -32600, "null", "INVALID_REQUEST", ""},
		{"a boolean as id", `{"jsonrpc":"2.0","id":true,"method":"ListTasks"}`, -32600, "null", "INVALID_REQUEST", ""},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "1", "INVALID_REQUEST", ""},
		{"a number as method", `{"jsonrpc":"2.0","id":1,"method":3}`, -32600, "null", "INVALID_REQUEST", ""},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, -32601, "1", "METHOD_NOT_FOUND", ""},
		{"a method in another case", `{"jsonrpc":"2.0","id":1,"method":"gettask"}`, -32601, "1", "METHOD_NOT_FOUND", ""},
		{"a list as params", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["x"]}`, -32602, "1", "INVALID_PARAMS", "params"},
		{"params of another type", rpcCall("GetTask", `{"id":7}`), -32602, "1", "INVALID_PARAMS", "id"},
		{"no task id", rpcCall("GetTask", `{}`), -32602, "1", "INVALID_PARAMS", "id"},
		{"an unknown task", rpcCall("GetTask", `{"id":"`+unknown+`"}`), -32001, "1", "TASK_NOT_FOUND", ""},
		{"a strange task", rpcCall("GetTask", `{"id":"../../x\u0000"}`), -32001, "1", "TASK_NOT_FOUND", ""},
		{"a task that has ended", rpcCall("CancelTask", `{"id":"`+string(done.ID)+`"}`), -32002, "1", "TASK_NOT_CANCELABLE", ""},
		{"no message", rpcCall("SendMessage", `{}`), -32602, "1", "INVALID_PARAMS", "message"},
		{"no message id", rpcCall("SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`), -32602, "1", "INVALID_PARAMS", "message.messageId"},
		{"a role of ours", rpcCall("SendMessage", `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`), -32602, "1", "INVALID_PARAMS", "message.role"},
		{"no parts", rpcCall("SendMessage", sendBody(``)), -32602, "1", "INVALID_PARAMS", "message.parts"},
		{"many parts", rpcCall("SendMessage", sendBody(strings.Repeat(`{"text":"x"},`, maxParts)+`{"text":"x"}`)), -32602, "1", "INVALID_PARAMS", "message.parts"},
		{"an empty part", rpcCall("SendMessage", sendBody(`{}`)), -32602, "1", "INVALID_PARAMS", "message.parts[0]"},
		{"a null part", rpcCall("SendMessage", sendBody(`null`)), -32602, "1", "INVALID_PARAMS", "message.parts[0]"},
		{"a part of two kinds", rpcCall("SendMessage", sendBody(`{"text":"x"},{"text":"x","data":{}}`)), -32602, "1", "INVALID_PARAMS", "message.parts[1]"},
		{"no base64", rpcCall("SendMessage", sendBody(`{"raw":"*"}`)), -32602, "1", "INVALID_PARAMS", "message.parts[0]"},
		{"no media type", rpcCall("SendMessage", sendBody(`{"text":"x","mediaType":"/"}`)), -32602, "1", "INVALID_PARAMS", "message.parts[0]"},
		{"a long context", rpcCall("SendMessage", sendBody(`{"text":"x"}`, `"contextId":"`+strings.Repeat("x", maxContext+1)+`"`)), -32602, "1", "INVALID_PARAMS", "message.contextId"},
		{"a context with control characters", rpcCall("SendMessage", sendBody(`{"text":"x"}`, `"contextId":"a\u0007"`)), -32602, "1", "INVALID_PARAMS", "message.contextId"},
		{"an unknown skill", rpcCall("SendMessage", sendBody(`{"text":"x"}`, `"metadata":{"skill_id":"nope"}`)), -32602, "1", "INVALID_PARAMS", "message.metadata.skill_id"},
		{"an unknown task to go on with", rpcCall("SendMessage", sendBody(`{"text":"x"}`, `"taskId":"`+unknown+`"`)), -32001, "1", "TASK_NOT_FOUND", ""},
		{"a task that takes no more", rpcCall("SendMessage", sendBody(`{"text":"x"}`, `"taskId":"`+string(done.ID)+`"`)), -32004, "1", "UNSUPPORTED_OPERATION", ""},
		{"a media type that is not taken", rpcCall("SendMessage", sendBody(`{"raw":"eA==","mediaType":"image/png"}`, echo)), -32005, "1", "CONTENT_TYPE_NOT_SUPPORTED", ""},
		{"history of less than nothing", rpcCall("SendMessage", `{"configuration":{"historyLength":-1},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), -32602, "1", "INVALID_PARAMS", "configuration.historyLength"},
		{"push wanted", rpcCall("SendMessage", `{"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1"}},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), -32003, "1", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: create", rpcCall("CreateTaskPushNotificationConfig", `{"taskId":"x","url":"http://127.0.0.1"}`), -32003, "1", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: get", rpcCall("GetTaskPushNotificationConfig", `{"taskId":"x","id":"y"}`), -32003, "1", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: list", rpcCall("ListTaskPushNotificationConfigs", `{"taskId":"x"}`), -32003, "1", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: delete", rpcCall("DeleteTaskPushNotificationConfig", `{"taskId":"x","id":"y"}`), -32003, "1", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"extended card", rpcCall("GetExtendedAgentCard", `{}`), -32004, "1", "UNSUPPORTED_OPERATION", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := r.rpc(test.body)
			if got.Error == nil || got.Error.Code != test.code || got.Error.Message == "" || got.Result != nil || got.Version != "2.0" || string(got.ID) != test.id {
				t.Fatalf("got %+v %+v", got, got.Error)
			}
			if reason(got.Error.Data) != test.reason {
				t.Errorf("got %v", got.Error.Data)
			}
			if f := fields(got.Error.Data); test.field != "" && (len(f) != 1 || f[0] != test.field) {
				t.Errorf("got %v", got.Error.Data)
			}
		})
	}
}

func TestFaultsOfREST(t *testing.T) {
	r := open(t, usual())
	unknown := "j" + strings.Repeat("0", 32)
	done := sent(t, r.client(a2a.TransportProtocolJSONRPC, ""), asks("echo"))
	tests := []struct {
		name, method, path, body string
		code                     int
		status, reason, field    string
	}{
		{"no JSON", "POST", "/message:send", `{`, 400, "INVALID_ARGUMENT", "PARSE_ERROR", ""},
		{"no body", "POST", "/message:send", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "message"},
		{"no parts", "POST", "/message:stream", sendBody(``), 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "message.parts"},
		{"a type", "POST", "/message:send", `{"message":7}`, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "message"},
		{"an unknown skill", "POST", "/message:stream", sendBody(`{"text":"x"}`, `"metadata":{"skill":"nope"}`), 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "message.metadata.skill"},
		{"a media type", "POST", "/message:send", sendBody(`{"url":"http://127.0.0.1/"}`, `"metadata":{"skill":"echo"}`), 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", ""},
		{"an unknown task", "GET", "/tasks/" + unknown, ``, 404, "NOT_FOUND", "TASK_NOT_FOUND", ""},
		{"an unknown task to cancel", "POST", "/tasks/" + unknown + ":cancel", ``, 404, "NOT_FOUND", "TASK_NOT_FOUND", ""},
		{"an unknown task to subscribe to", "GET", "/tasks/" + unknown + ":subscribe", ``, 404, "NOT_FOUND", "TASK_NOT_FOUND", ""},
		{"a task that has ended", "POST", "/tasks/" + string(done.ID) + ":cancel", ``, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", ""},
		{"a task that has ended, as a stream", "POST", "/tasks/" + string(done.ID) + ":subscribe", ``, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", ""},
		{"a task that has ended, by GET", "GET", "/tasks/" + string(done.ID) + ":subscribe", ``, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", ""},
		{"history", "GET", "/tasks/" + string(done.ID) + "?historyLength=many", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "historyLength"},
		{"push: create", "POST", "/tasks/x/pushNotificationConfigs", `{}`, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: list", "GET", "/tasks/x/pushNotificationConfigs", ``, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: get", "GET", "/tasks/x/pushNotificationConfigs/y", ``, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"push: delete", "DELETE", "/tasks/x/pushNotificationConfigs/y", ``, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		{"no card", "GET", "/extendedAgentCard", ``, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", ""},
		{"nothing there", "GET", "/what", ``, 404, "NOT_FOUND", "METHOD_NOT_FOUND", ""},
		{"nothing deeper", "GET", "/tasks/a/b/c/d", ``, 404, "NOT_FOUND", "METHOD_NOT_FOUND", ""},
		{"another method", "DELETE", "/message:send", ``, 405, "INVALID_ARGUMENT", "INVALID_REQUEST", ""},
		{"another method for a task", "POST", "/tasks", `{}`, 405, "INVALID_ARGUMENT", "INVALID_REQUEST", ""},
		{"an action that is none", "POST", "/tasks/" + unknown + ":explode", `{}`, 405, "INVALID_ARGUMENT", "INVALID_REQUEST", ""},
		{"two values", "GET", "/tasks?pageSize=1&pageSize=2", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "pageSize"},
		{"a flag", "GET", "/tasks?includeArtifacts=yes", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "includeArtifacts"},
		{"a page size", "GET", "/tasks?pageSize=101", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "pageSize"},
		{"an empty page", "GET", "/tasks?pageSize=0", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "pageSize"},
		{"a state", "GET", "/tasks?status=WORKING", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "status"},
		{"a token", "GET", "/tasks?pageToken=zzz", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "pageToken"},
		{"a time", "GET", "/tasks?statusTimestampAfter=yesterday", ``, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "statusTimestampAfter"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := r.raw(test.method, "/a2a"+test.path, test.body, "Accept", "application/a2a+json")
			var body struct {
				Error struct {
					Code            int
					Status, Message string
					Details         []map[string]any
				}
			}
			if err := json.Unmarshal(got.body, &body); err != nil {
				t.Fatalf("%d %s", got.status, got.body)
			}
			e := body.Error
			if got.status != test.code || e.Code != test.code || e.Status != test.status || e.Message == "" || reason(e.Details) != test.reason {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if got.header.Get("Content-Type") != mediaA2A {
				t.Errorf("got %s", got.header.Get("Content-Type"))
			}
			if f := fields(e.Details); test.field != "" && (len(f) != 1 || f[0] != test.field) {
				t.Errorf("got %v", e.Details)
			}
		})
	}
}

// Every kind of fault comes out of the official client as the error that it is.
func TestFaultsReachTheClient(t *testing.T) {
	both(t, func(t *testing.T, r *rig, c *a2aclient.Client) {
		_, err := c.SendMessage(within(t), asks("nope"))
		is(t, err, a2a.ErrInvalidParams)
		for _, err := range c.SendStreamingMessage(within(t), asks("nope")) {
			is(t, err, a2a.ErrInvalidParams)
		}
		_, err = c.SendMessage(within(t), asks("echo", a2a.NewRawPart([]byte("x"))))
		is(t, err, a2a.ErrUnsupportedContentType)
		for _, err := range c.SendStreamingMessage(within(t), asks("echo", a2a.NewRawPart([]byte("x")))) {
			is(t, err, a2a.ErrUnsupportedContentType)
		}
		q := asks("echo")
		q.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "http://127.0.0.1/"}}
		_, err = c.SendMessage(within(t), q)
		is(t, err, a2a.ErrPushNotificationNotSupported)
	})
}

// What goes wrong before a stream of JSON-RPC has begun is a plain answer, but for the Go client, which reads events alone.
func TestStreamsThatDoNotBegin(t *testing.T) {
	r := open(t, usual())
	for _, body := range []string{rpcCall("SendStreamingMessage", `{}`), rpcCall("SubscribeToTask", `{"id":"x"}`)} {
		got := r.raw("POST", "/a2a/rpc", body, "User-Agent", "node", "Accept", mediaSSE)
		if !strings.HasPrefix(string(got.body), `{"jsonrpc":"2.0","id":1,"error":{"code":-32`) || got.header.Get("Content-Type") != mediaJSON {
			t.Errorf("got %v %s", got.header, got.body)
		}
		got = r.raw("POST", "/a2a/rpc", body, "User-Agent", "Go-http-client/1.1", "Accept", mediaSSE)
		if !strings.HasPrefix(string(got.body), `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32`) || got.header.Get("Content-Type") != mediaSSE {
			t.Errorf("got %v %s", got.header, got.body)
		}
	}
}

// Fields may have the names of the proto file.
func TestNamesOfTheProtoFile(t *testing.T) {
	r := open(t, usual())
	got := r.rpc(rpcCall("SendMessage", `{"message":{"message_id":"m","context_id":"c d","role":"ROLE_USER","metadata":{"skill_id":"echo","my_key":1},`+
		`"parts":[{"data":{"an_argument":1.50},"media_type":"application/json"}]},"configuration":{"history_length":1,"return_immediately":true}}`))
	var answer struct {
		Task struct{ ID, ContextID string }
	}
	if err := json.Unmarshal(got.Result, &answer); err != nil || answer.Task.ContextID != "c d" || !strings.Contains(string(got.Result), "SUBMITTED") {
		t.Fatalf("got %s %+v", got.Result, got.Error)
	}
	c := r.client(a2a.TransportProtocolJSONRPC, "")
	if task := r.state(c, a2a.TaskID(answer.Task.ID), a2a.TaskStateCompleted); whole(task) != `result={"an_argument":1.5}` {
		t.Errorf("got %s", whole(task))
	}
	if got := r.rpc(rpcCall("GetTask", `{"id":"`+answer.Task.ID+`","history_length":0}`)); strings.Contains(string(got.Result), "history") {
		t.Errorf("got %s", got.Result)
	}
	if got := r.rpc(rpcCall("ListTasks", `{"page_size":0}`)); got.Error == nil || fields(got.Error.Data)[0] != "pageSize" {
		t.Errorf("got %+v", got)
	}
}

func TestVersions(t *testing.T) {
	lenient, strict := open(t, usual()), open(t, usual(), func(o *Options) { o.Lenient = false })
	for _, test := range []struct {
		version, query  string
		lenient, strict bool
	}{
		{"1.0", "", true, true}, {"1.0.1", "", true, true}, {"", "", true, false}, {"-", "", true, false}, {"0.3", "", false, false},
		{"1.1", "", false, false}, {"2.0", "", false, false}, {"99.0", "", false, false}, {"1", "", false, false}, {"x", "", false, false},
		{"-", "1.0", true, true}, {"-", "2.0", false, false}, {"1.0", "2.0", true, true},
	} {
		for r, want := range map[*rig]bool{lenient: test.lenient, strict: test.strict} {
			path := ""
			if test.query != "" {
				path = "?A2A-Version=" + test.query
			}
			got := r.raw("POST", "/a2a/rpc"+path, rpcCall("ListTasks", "{}"), "A2A-Version", test.version)
			var answer rpcReply
			if err := json.Unmarshal(got.body, &answer); err != nil {
				t.Fatal(err)
			}
			if ok := answer.Error == nil; ok != want {
				t.Errorf("%+v: got %s", test, got.body)
			} else if !ok && (answer.Error.Code != -32009 || reason(answer.Error.Data) != "VERSION_NOT_SUPPORTED" || string(answer.ID) != "1") {
				t.Errorf("%+v: got %s", test, got.body)
			}
			got = r.raw("GET", "/a2a/tasks"+path, "", "A2A-Version", test.version)
			if ok := got.status == 200; ok != want || !ok && got.status != 400 {
				t.Errorf("%+v: got %d %s", test, got.status, got.body)
			}
		}
	}
}

func TestContentTypes(t *testing.T) {
	r := open(t, usual())
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "-", "application/jsonx"} {
		got := r.rpc(rpcCall("ListTasks", "{}"), "Content-Type", kind)
		if got.Error == nil || got.Error.Code != -32005 {
			t.Errorf("%s: got %+v", kind, got)
		}
		if got := r.raw("POST", "/a2a/message:send", sendBody(`{"text":"x"}`), "Content-Type", kind); got.status != 400 || !strings.Contains(string(got.body), "CONTENT_TYPE_NOT_SUPPORTED") {
			t.Errorf("%s: got %d %s", kind, got.status, got.body)
		}
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "application/a2a+json"} {
		if got := r.rpc(rpcCall("ListTasks", "{}"), "Content-Type", kind); got.Error != nil {
			t.Errorf("%s: got %+v", kind, got.Error)
		}
	}
	for accept, want := range map[string]string{"": mediaA2A, "*/*": mediaA2A, "application/a2a+json, application/json": mediaA2A, "application/json": mediaJSON, "text/event-stream": mediaJSON} {
		if got := r.raw("GET", "/a2a/tasks", "", "Accept", accept); got.header.Get("Content-Type") != want {
			t.Errorf("%q: got %s", accept, got.header.Get("Content-Type"))
		}
	}
	if got := r.raw("POST", "/a2a/rpc", rpcCall("ListTasks", "{}")); got.header.Get("Content-Type") != mediaJSON {
		t.Errorf("got %v", got.header)
	}
}

// Clients use the interface's URL as it is, or with a slash behind it; and a tenant in its place.
func TestPaths(t *testing.T) {
	r := open(t, usual())
	for _, path := range []string{"/a2a/rpc", "/a2a/rpc/"} {
		if got := r.raw("POST", path, rpcCall("ListTasks", "{}")); got.status != 200 || !strings.Contains(string(got.body), "totalSize") {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
		if got := r.raw("GET", path, ""); got.status != 405 || got.header.Get("Allow") != "POST" {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	body := sendBody(`{"data":{"x":1}}`, `"metadata":{"skill":"echo"}`)
	var task struct{ Task struct{ ID string } }
	got := r.raw("POST", "/a2a/tenant-1/message:send", body)
	if err := json.Unmarshal(got.body, &task); err != nil || got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, path := range []string{"/a2a/tasks", "/a2a/tasks/", "/a2a/tenant-1/tasks", "/a2a/tenant-1/tasks/" + task.Task.ID, "/a2a/tasks/" + task.Task.ID} {
		if got := r.raw("GET", path, ""); got.status != 200 {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	for path, want := range map[string]int{"/a2a/tasks/" + task.Task.ID: 200, "/a2a/tasks/" + task.Task.ID + ":subscribe": 405} {
		if got := r.raw("HEAD", path, ""); got.status != want { // a stream without a body would only wait
			t.Errorf("HEAD %s: got %d, want %d", path, got.status, want)
		}
	}
	q := asks("echo")
	q.Tenant = "tenant-2"
	for _, b := range bindings() {
		if got := sent(t, r.client(b, ""), q); got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("got %+v", got)
		}
	}
}

func TestExtensionIsActivated(t *testing.T) {
	r := open(t, usual())
	got := r.raw("POST", "/a2a/rpc", rpcCall("ListTasks", "{}"), "A2A-Extensions", "https://other.example/x, "+Extension)
	if got.header.Get("A2A-Extensions") != Extension {
		t.Errorf("got %v", got.header)
	}
	got = r.raw("POST", "/a2a/rpc", rpcCall("ListTasks", "{}"), "A2A-Extensions", "https://other.example/x")
	if got.header.Get("A2A-Extensions") != "" || got.status != 200 {
		t.Errorf("got %v", got.header)
	}
}

// What a task looks like on the wire: names in camel case, states by their names, times in UTC with a Z.
func TestWireForm(t *testing.T) {
	r := open(t, usual())
	got := r.raw("POST", "/a2a/message:send", sendBody(`{"data":{}}`, `"metadata":{"skill":"events"}`, `"contextId":"ctx"`))
	var answer struct {
		Task struct {
			ID, ContextID string
			Status        struct {
				State, Timestamp string
			}
			Artifacts []struct {
				ArtifactID, Name string
				Parts            []map[string]any
			}
			History []struct{ MessageID, Role string }
		}
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		t.Fatal(err)
	}
	task := answer.Task
	for _, name := range []string{`"contextId":"ctx"`, `"artifactId":"file:hello.txt"`, `"messageId":"m1"`, `"mediaType":"text/plain"`, `"raw":"SGVsbG8sIHdvcmxk"`, `"role":"ROLE_USER"`} {
		if !strings.Contains(string(got.body), name) {
			t.Errorf("there is no %s in %s", name, got.body)
		}
	}
	at, err := time.Parse("2006-01-02T15:04:05.999Z", task.Status.Timestamp)
	if task.Status.State != "TASK_STATE_COMPLETED" || err != nil || time.Since(at) > time.Hour {
		t.Errorf("got %+v, %v", task.Status, err)
	}
	list := r.raw("GET", "/a2a/tasks", "")
	if !strings.Contains(string(list.body), `"nextPageToken":""`) || strings.Contains(string(list.body), "artifacts") {
		t.Errorf("got %s", list.body)
	}
}

// A stream is made of events with one line of data each, and comments keep it alive.
func TestStreamOnTheWire(t *testing.T) {
	f := usual()
	r := open(t, f, func(o *Options) { o.KeepAlive = 10 * time.Millisecond })
	for _, path := range []string{"/a2a/message:stream", "/a2a/rpc"} {
		body := sendBody(`{"data":{}}`, `"metadata":{"skill":"wait"}`)
		if path == "/a2a/rpc" {
			body = rpcCall("SendStreamingMessage", body)
		}
		req, _ := http.NewRequestWithContext(within(t), "POST", r.url+path, strings.NewReader(body))
		req.Header.Set("Content-Type", mediaJSON)
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != mediaSSE || resp.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("got %d %v", resp.StatusCode, resp.Header)
		}
		lines, comments := bufio.NewScanner(resp.Body), 0
		for lines.Scan() {
			line := lines.Text()
			switch {
			case strings.HasPrefix(line, ": "):
				if comments++; comments == 3 {
					close(f.release)
				}
			case line == "":
			case strings.HasPrefix(line, "data: {"):
				if !json.Valid([]byte(line[6:])) || path == "/a2a/rpc" != strings.Contains(line, `"jsonrpc":"2.0","id":1,"result"`) {
					t.Errorf("got %s", line)
				}
			default:
				t.Errorf("got line %q", line)
			}
		}
		resp.Body.Close()
		if comments < 3 {
			t.Errorf("got %d comments", comments)
		}
		f.release = make(chan struct{})
	}
}

func TestLargeRequests(t *testing.T) {
	r := open(t, usual())
	huge := sendBody(`{"text":"` + strings.Repeat("x", maxBody) + `"}`)
	if got := r.rpc(rpcCall("SendMessage", huge)); got.Error == nil || got.Error.Code != -32600 {
		t.Errorf("got %+v", got.Error)
	}
	if got := r.raw("POST", "/a2a/message:send", huge); got.status != 400 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := r.raw("GET", "/a2a/tasks/"+strings.Repeat("x", 20_000), ""); got.status != 404 || len(got.body) > 2000 {
		t.Errorf("got %d, %d bytes", got.status, len(got.body))
	}
	if got := r.raw("GET", "/a2a/tasks?contextId="+url.QueryEscape(strings.Repeat("x", 20_000)), ""); got.status != 200 {
		t.Errorf("got %d", got.status)
	}
	if saw, _ := r.f.seen(); len(saw) != 0 {
		t.Errorf("got %+v", saw)
	}
}

// Requests that are cut off start nothing and hold nobody.
func TestCutOffRequests(t *testing.T) {
	r := open(t, usual())
	address := strings.TrimPrefix(r.url, "http://")
	body := rpcCall("SendMessage", sendBody(`{"data":{}}`, `"metadata":{"skill":"echo"}`))
	whole := fmt.Sprintf("POST /a2a/rpc HTTP/1.1\r\nHost: %s\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", address, len(body), body)
	for cut := 1; cut < len(whole); cut += 17 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, whole[:cut]); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if got := r.rpc(rpcCall("ListTasks", "{}")); string(got.Result) != `{"tasks":[],"totalSize":0,"pageSize":50,"nextPageToken":""}` {
		t.Errorf("got %s", got.Result)
	}
}

// Streams that are cut off leave nothing behind, and the task goes on.
func TestCutOffStreams(t *testing.T) {
	f := usual()
	r := open(t, f)
	ctx, cancel := context.WithCancel(within(t))
	for range 20 {
		body := rpcCall("SendStreamingMessage", sendBody(`{"data":{}}`, `"metadata":{"skill":"wait"}`))
		req, _ := http.NewRequestWithContext(ctx, "POST", r.url+"/a2a/rpc", strings.NewReader(body))
		req.Header.Set("Content-Type", mediaJSON)
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	cancel()
	close(f.release)
	testutil.Poll(t, patience, func() bool {
		r.h.mu.Lock()
		defer r.h.mu.Unlock()
		return len(r.h.live) == 0
	})
	if got := r.rpc(rpcCall("ListTasks", `{"status":"TASK_STATE_COMPLETED"}`)); !strings.Contains(string(got.Result), `"totalSize":20`) {
		t.Errorf("got %s", got.Result)
	}
}

// Ids of JSON-RPC come back as they were sent, and mean nothing else.
func TestIDsComeBack(t *testing.T) {
	r := open(t, usual())
	for _, id := range []string{`1`, `0`, `-5`, `1.5`, `12345678901234567890`, `"x"`, `"\u0000é"`, `""`, `null`} {
		got := r.rpc(`{"jsonrpc":"2.0","id":` + id + `,"method":"SendMessage","params":` + sendBody(`{"data":{}}`, `"metadata":{"skill":"echo"}`) + `}`)
		if string(got.ID) != id || got.Error != nil {
			t.Errorf("%s came back as %s, %+v", id, got.ID, got.Error)
		}
	}
	if saw, _ := r.f.seen(); len(saw) != 9 {
		t.Errorf("%d calls were made", len(saw))
	}
}

func FuzzRPC(f *testing.F) {
	for _, seed := range []string{
		rpcCall("SendMessage", sendBody(`{"data":{"x":1}}`, `"metadata":{"skill":"echo"}`)), rpcCall("ListTasks", `{"pageSize":3,"status":"TASK_STATE_FAILED"}`),
		rpcCall("GetTask", `{"id":"j00000000000000000000000000000000.Y3R4"}`), `[]`, `{"jsonrpc":"2.0","id":1e9,"method":"CancelTask","params":null}`,
	} {
		f.Add(seed)
	}
	h, err := New(Options{Handler: usual(), Control: usual(), Skills: usual(), Lenient: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, body string) {
		r, _ := http.NewRequest("POST", "/a2a/rpc", strings.NewReader(body))
		r.Header.Set("Content-Type", mediaJSON)
		q, err := readRPC(r)
		if err == nil && !json.Valid(q.ID) {
			t.Errorf("got id %q", q.ID)
		}
		if err != nil || q.Method == "SendStreamingMessage" || q.Method == "SubscribeToTask" {
			return
		}
		var p sendParams
		if decode(q.Params, &p) == nil && p.check() == nil {
			s := chooser()
			if o, err := choose(s, &p, nil); err == nil && o.skill == nil && o.arguments != nil {
				t.Errorf("got %+v", o)
			}
			p.Message.told(newIdentity("", false))
		}
	})
}

func FuzzTaskID(f *testing.F) {
	f.Add("j00000000000000000000000000000000.Y3R4", "my context")
	f.Add("t0123456789abcdef0123456789abcdef", "")
	f.Fuzz(func(t *testing.T, id, context string) {
		if i, ok := parseTask(id); ok && (i.task != id || !plain(i.context, maxContext)) {
			t.Errorf("%q gives %+v", id, i)
		}
		if !plain(context, maxContext) {
			return
		}
		made := newIdentity(context, true)
		if back, ok := parseTask(made.task); !ok || back != made || len(made.question()) > 256 {
			t.Errorf("%+v comes back as %+v", made, back)
		}
	})
}

// Large requests have a bounded room, of which each principal leaves some; small ones always get in.
func TestRoomForLargeRequests(t *testing.T) {
	h := open(t, usual()).h
	take := func(principal string, n int64) (func(), bool) {
		r := httptest.NewRequest(http.MethodPost, rpcPath, nil)
		r.ContentLength = n
		return h.room(r.WithContext(auth.NewContext(r.Context(), auth.Identity{Principal: principal})))
	}
	for range allBodies / maxBody / 2 {
		if _, ok := take("greedy", -1); !ok {
			t.Fatal("too little room")
		}
	}
	if _, ok := take("greedy", ownBody+1); ok {
		t.Error("one principal may take all of it")
	}
	if _, ok := take("greedy", ownBody); !ok {
		t.Error("a small one finds no room")
	}
	done, ok := take("other", allBodies/2)
	if !ok {
		t.Fatal("another finds no room")
	}
	r := httptest.NewRequest(http.MethodPost, rpcPath, nil)
	r.ContentLength = ownBody + 1
	w := httptest.NewRecorder()
	h.Operations().ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "too many large requests") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	done()
	if _, ok := take("", 1<<20); !ok {
		t.Error("what was given back is lost")
	}
}
