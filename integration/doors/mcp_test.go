package doors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// toolUser is a session of the official client for Go, whose skills are tools.
type toolUser struct {
	d       *daemon
	session *mcp.ClientSession

	mu      sync.Mutex
	waiting map[any]chan string // for the messages of progress, by token
}

// toolsOver connects the client and closes it with the test.
func toolsOver(t *testing.T, d *daemon, transport mcp.Transport) caller {
	t.Helper()
	u := &toolUser{d: d, waiting: map[any]chan string{}}
	client := mcp.NewClient(&mcp.Implementation{Name: "doors", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			u.mu.Lock()
			to := u.waiting[n.Params.ProgressToken]
			u.mu.Unlock()
			if to != nil {
				to <- n.Params.Message
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	if u.session, err = client.Connect(ctx, transport, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return u.call
}

func (u *toolUser) call(ctx context.Context, c call) (outcome, error) {
	token, id := a2e.NewID(), cmp.Or(c.ID, a2e.NewID())
	progress := make(chan string, 100)
	u.mu.Lock()
	u.waiting[token] = progress
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.waiting, token)
	}()
	params := &mcp.CallToolParams{Meta: mcp.Meta{"hotcell/request_id": id}, Name: c.Skill, Arguments: c.Args}
	if c.Args == nil {
		params.Arguments = map[string]any{}
	}
	params.SetProgressToken(token)
	own, hangUp := context.WithCancel(ctx)
	defer hangUp()
	var first string
	var watching sync.WaitGroup
	if c.Cancel {
		watching.Go(func() {
			select {
			case first = <-progress:
			case <-own.Done():
			}
			hangUp() // which the SDK tells the server
		})
	}
	res, err := u.session.CallTool(own, params)
	if c.Cancel {
		hangUp()
		watching.Wait()
		if err == nil {
			return outcome{}, errors.New("the call ended by itself")
		}
		o, err := u.d.ended(ctx, id)
		o.Said = []string{first}
		return o, err
	}
	o, err := u.outcome(ctx, res, err, c.Files)
	for want := c.said; want > 0 && err == nil; want-- { // the SDK handles notifications beside answers
		select {
		case m := <-progress:
			o.Said = append(o.Said, m)
		case <-ctx.Done():
			return o, fmt.Errorf("after %d of %d messages: %w", c.said-want, c.said, ctx.Err())
		}
	}
	return o, err
}

func (u *toolUser) outcome(ctx context.Context, res *mcp.CallToolResult, err error, files bool) (o outcome, _ error) {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams {
		return failed(refused.Data)
	}
	if err != nil {
		return o, err
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return o, err
	}
	if res.IsError {
		return failed(structured)
	}
	o.Data = res.StructuredContent
	o.Files = map[string]string{}
	for _, content := range res.Content {
		if err := u.content(ctx, content, &o, files); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (u *toolUser) content(ctx context.Context, content mcp.Content, o *outcome, files bool) error {
	switch one := content.(type) {
	case *mcp.TextContent:
		if o.Data == nil {
			o.Data = one.Text
		}
	case *mcp.EmbeddedResource:
		return keep(o, one.Resource)
	case *mcp.ResourceLink:
		if !files {
			return nil
		}
		read, err := u.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: one.URI})
		if err != nil {
			return err
		}
		for _, r := range read.Contents {
			if err := keep(o, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep takes the digest of an artifact.
func keep(o *outcome, r *mcp.ResourceContents) error {
	_, path, ok := strings.Cut(r.URI, "/artifacts/")
	name, err := url.PathUnescape(path)
	if !ok || err != nil {
		return fmt.Errorf("%s: expected the address of an artifact", r.URI)
	}
	b := r.Blob
	if r.Text != "" {
		b = []byte(r.Text)
	}
	o.Files[name] = digest(b)
	return nil
}

// failed reads what a failure says to programs.
func failed(structured []byte) (o outcome, err error) {
	var says struct {
		Code   string `json:"error_code"`
		Detail struct{ Reason string }
	}
	if err := json.Unmarshal(structured, &says); err != nil || says.Code == "" {
		return o, fmt.Errorf("a failure without a code: %s", structured)
	}
	return outcome{Code: says.Code, Reason: says.Detail.Reason}, nil
}

// node runs one of the clients for Node. Its modules are found beside it, so it is run from a folder of its own.
func node(t *testing.T, script string) (program, path string) {
	t.Helper()
	folder := testutil.NodeClients(t)
	return filepath.Join(folder, "bin", "node"), testutil.BesideNodeModules(t, folder, script)
}

// mcpDoors are MCP's two transports with the official clients for Go and for Node.
func mcpDoors() []door {
	return []door{
		{name: "MCP stdio, Go SDK", none: ownProcess(), open: func(t *testing.T, d *daemon) caller {
			cmd := exec.Command(d.bin, "mcp")
			cmd.Dir, cmd.Env = d.dir, d.env
			return toolsOver(t, d, &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute})
		}},
		{name: "MCP HTTP, Go SDK", open: func(t *testing.T, d *daemon) caller {
			return toolsOver(t, d, &mcp.StreamableClientTransport{Endpoint: d.url + "/mcp", HTTPClient: d.http})
		}},
		{name: "MCP stdio, npm SDK", needs: "node-clients", none: ownProcess(), open: func(t *testing.T, d *daemon) caller {
			program, script := node(t, "node/mcp.mjs")
			return helper(t, d, program, script, "stdio", d.bin, "mcp")
		}},
		{name: "MCP HTTP, npm SDK", needs: "node-clients", open: func(t *testing.T, d *daemon) caller {
			program, script := node(t, "node/mcp.mjs")
			return helper(t, d, program, script, "http", d.url+"/mcp")
		}},
	}
}
