package doors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// overA2A speaks one binding of A2A with the official client for Go, made from the card.
func overA2A(binding a2a.TransportProtocol) func(t *testing.T, d *daemon) caller {
	return func(t *testing.T, d *daemon) caller {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		card, err := agentcard.NewResolver(d.http).Resolve(ctx, d.url)
		if err != nil {
			t.Fatal(err)
		}
		client, err := a2aclient.NewFromCard(ctx, card,
			a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
			a2aclient.WithJSONRPCTransport(d.http), a2aclient.WithRESTTransport(d.http))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.Destroy(); err != nil {
				t.Error(err)
			}
		})
		return func(ctx context.Context, c call) (outcome, error) { return delegated(ctx, client, c) }
	}
}

// delegated sends a message that asks for a skill, and follows its task.
func delegated(ctx context.Context, client *a2aclient.Client, c call) (outcome, error) {
	if c.Args == nil {
		c.Args = map[string]any{}
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(c.Args))
	message.SetMeta("skill_id", c.Skill)
	f := followed{files: map[string]hash.Hash{}}
	for event, err := range client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
		if errors.Is(err, a2a.ErrInvalidParams) && strings.Contains(err.Error(), "unknown skill") {
			return outcome{Code: "unknown_skill"}, nil // decision 26: no task is made for it
		}
		if err != nil {
			return outcome{}, err
		}
		if f.take(event) && c.Cancel {
			if _, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: f.task}); err != nil {
				return outcome{}, err
			}
		}
	}
	return f.outcome()
}

// followed is what a task's stream said so far.
type followed struct {
	task  a2a.TaskID
	data  any
	said  []string
	files map[string]hash.Hash
	ended *a2a.TaskStatusUpdateEvent
}

// take reports whether the skill said something.
func (f *followed) take(event a2a.Event) bool {
	switch event := event.(type) {
	case *a2a.Task:
		f.task = event.ID
	case *a2a.TaskArtifactUpdateEvent:
		f.piece(event.Artifact)
	case *a2a.TaskStatusUpdateEvent:
		if event.Status.State.Terminal() {
			f.ended = event
			return false
		}
		if event.Metadata["kind"] == "progress" {
			f.said = append(f.said, event.Status.Message.Parts[0].Text())
			return true
		}
	}
	return false
}

// piece takes what the skill returned, or some of a file.
func (f *followed) piece(a *a2a.Artifact) {
	for _, part := range a.Parts {
		if a.ID == "result" {
			f.data = part.Data()
			continue
		}
		if f.files[a.Name] == nil {
			f.files[a.Name] = sha256.New()
		}
		_, _ = f.files[a.Name].Write(part.Raw())
	}
}

func (f *followed) outcome() (outcome, error) {
	if f.ended == nil {
		return outcome{}, errors.New("the stream ended before the task")
	}
	o := outcome{Data: f.data, Said: f.said, Files: map[string]string{}}
	for name, sum := range f.files {
		o.Files[name] = hex.EncodeToString(sum.Sum(nil))
	}
	if f.ended.Status.State == a2a.TaskStateCompleted {
		return o, nil
	}
	o.Code, _ = f.ended.Metadata["error_code"].(string)
	o.Reason, _ = f.ended.Metadata["reason"].(string)
	if o.Code == "" {
		return o, fmt.Errorf("a task that is %s without a code", f.ended.Status.State)
	}
	return o, nil
}

// a2aDoors are A2A's two bindings with the official clients for Go and for Node.
func a2aDoors() []door {
	npm := func(binding string) func(t *testing.T, d *daemon) caller {
		return func(t *testing.T, d *daemon) caller {
			program, script := node(t, "node/a2a.mjs")
			return helper(t, d, program, script, binding, d.url)
		}
	}
	none := map[string]string{reused: "ids of messages are their sender's and make no request the same"}
	return []door{
		{name: "A2A JSON-RPC, a2a-go", none: none, open: overA2A(a2a.TransportProtocolJSONRPC)},
		{name: "A2A REST, a2a-go", none: none, open: overA2A(a2a.TransportProtocolHTTPJSON)},
		{name: "A2A JSON-RPC, npm SDK", needs: "node-clients", none: none, open: npm("JSONRPC")},
		{name: "A2A REST, npm SDK", needs: "node-clients", none: none, open: npm("HTTP+JSON")},
	}
}
