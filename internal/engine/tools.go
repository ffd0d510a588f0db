package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
)

// maxConns bounds the connections to the gate: a script may ask for thousands of tools at once, and has few files.
const maxConns = 32

// maxAnswer bounds the tool gate's answer.
const maxAnswer = 32 << 20

// ToolError is a tool's refusal or failure. Code is one of the protocol's, such as permission_denied.
type ToolError struct{ Tool, Code, Message string }

func (e *ToolError) Error() string { return fmt.Sprintf("tool %s: %s", e.Tool, e.Message) }

// Tools calls the host tools that a call was granted, over HTTP on the cell's loopback.
type Tools struct {
	base, token string
	client      *http.Client
}

// NewTools takes the gate's address and the cell's token; "" is a cell without tools.
func NewTools(base, token string) *Tools {
	return &Tools{base: strings.TrimSuffix(base, "/"), token: token, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, MaxConnsPerHost: maxConns}}}
}

// Close drops idle connections.
func (t *Tools) Close() { t.client.CloseIdleConnections() }

// Granted reports whether there is a gate at all.
func (t *Tools) Granted() bool { return t.base != "" }

// Call uses a tool; arguments is a JSON object. It fails with *ToolError where the gate answered, or there is none.
func (t *Tools) Call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	if !t.Granted() {
		return nil, &ToolError{name, "permission_denied", "no tools were granted to this call: name them under tools in skill.yaml"}
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/v1/tools/"+url.PathEscape(name), bytes.NewReader(arguments))
	if err != nil {
		return nil, &ToolError{name, "invalid_arguments", err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+t.token)
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, toolTrouble(ctx, name, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, toolTrouble(ctx, name, err)
	}
	return answer(name, resp.StatusCode, body)
}

func toolTrouble(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &ToolError{name, "tool_unavailable", "the tool gate does not answer: " + err.Error()}
}

func answer(name string, status int, body []byte) (json.RawMessage, error) {
	if len(body) > maxAnswer {
		return nil, &ToolError{name, "output_limit", fmt.Sprintf("its answer is longer than %d MiB", maxAnswer>>20)}
	}
	var result wall.ToolResult
	if err := json.Unmarshal(body, &result); err != nil {
		return nil, &ToolError{name, "tool_unavailable", fmt.Sprintf("the tool gate answered %d with something else than JSON", status)}
	}
	switch {
	case result.Success && status == http.StatusOK:
		if len(result.Data) == 0 {
			return json.RawMessage("null"), nil
		}
		return result.Data, nil
	case result.Error == "":
		result.Error = fmt.Sprintf("the tool gate answered %d", status)
	}
	if result.Code == "" {
		result.Code = "tool_error"
	}
	return nil, &ToolError{name, result.Code, result.Error}
}
