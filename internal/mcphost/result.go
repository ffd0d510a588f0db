package mcphost

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// maxText is how much of a result is repeated as text where its structure is there too, in bytes.
const maxText = 1 << 20

// answer projects the end of a call to a tool's result. revision is the protocol's that the client speaks.
func answer(resp *a2e.CallResponse, made *artifacts, revision string) *mcp.CallToolResult {
	var res *mcp.CallToolResult
	switch {
	case resp.Error != nil:
		res = failure(resp.Error)
	case resp.Data == nil:
		res = &mcp.CallToolResult{Content: []mcp.Content{}}
	case !resp.Data.Success:
		res = failure(unsuccessful(resp.Data))
	default:
		res = success(resp.Data, revision)
	}
	res.Content = append(res.Content, made.content(resp.ID, revision)...)
	res.Meta = mcp.Meta{metaPrefix + "call_id": resp.ID, metaPrefix + "request_id": resp.ReqID}
	if resp.Data != nil {
		res.Meta[metaPrefix+"duration_ms"] = resp.Data.DurationMS
		if resp.Data.Truncated {
			res.Meta[metaPrefix+"truncated"] = true
		}
	}
	return res
}

// unsuccessful is a failure that only the data tells of.
func unsuccessful(r *a2e.Result) *a2e.Error {
	code, message := a2e.SkillError, "the skill failed"
	if r.ErrorCode != nil {
		code = a2e.Code(*r.ErrorCode)
	}
	if r.Error != nil {
		message = *r.Error
	}
	return a2e.Errorf(code, "%s", message)
}

// success has a result's data as text, and as structure where it is an object; from the first revision without sessions on
// any data may be. The summary follows.
func success(r *a2e.Result, revision string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{}}
	raw, err := encode(r.Data)
	if err != nil {
		return failure(a2e.Errorf(a2e.SkillError, "the result has no JSON form"))
	}
	text := plainly(raw)
	if object := raw[0] == '{'; object || revision >= statelessRevision && r.Data != nil {
		res.StructuredContent = json.RawMessage(raw)
		if object && len(text) > maxText {
			text = fmt.Sprintf("%s... (%d bytes; the whole is in structuredContent)", bytes.ToValidUTF8(raw[:maxText], nil), len(raw))
		}
	}
	if r.Data != nil {
		res.Content = append(res.Content, &mcp.TextContent{Text: text})
	}
	if r.Summary != nil {
		raw, _ := encode(r.Summary)
		summary := plainly(raw)
		if summary != "" && summary != text {
			res.Content = append(res.Content, &mcp.TextContent{Text: summary})
		}
	}
	return res
}

// plainly is a text as it is, and anything else as JSON.
func plainly(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// failure is a result that says what went wrong, in words and for programs.
func failure(e *a2e.Error) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true, StructuredContent: errorData(e), Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}},
	}
}

// errorData is an error for programs.
func errorData(e *a2e.Error) map[string]any {
	m := map[string]any{"error_code": string(e.Code), "message": e.Message, "retryable": e.Retryable}
	if len(e.Detail) > 0 {
		m["detail"] = e.Detail
	}
	return m
}
