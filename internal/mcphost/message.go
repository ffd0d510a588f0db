package mcphost

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longMessage is how long any message but a call may be, in bytes.
const longMessage = 64 << 10

// checkMessage says what is wrong with JSON that is to be a message. A long one must be a call, of the right form: where the
// SDK can't read parameters it repeats them in its answer.
func checkMessage(raw []byte) (msg jsonrpc.Message, why string) {
	msg, err := jsonrpc.DecodeMessage(raw)
	req, asks := msg.(*jsonrpc.Request)
	resp, answers := msg.(*jsonrpc.Response)
	switch {
	case err != nil, answers && resp.Result == nil && resp.Error == nil:
		return nil, "the message is none of JSON-RPC 2.0"
	case len(raw) <= longMessage:
		return msg, ""
	case !asks || req.Method != "tools/call":
		return nil, fmt.Sprintf("the message is longer than %d bytes and no tools/call", longMessage)
	}
	var params mcp.CallToolParamsRaw
	if json.Unmarshal(req.Params, &params) != nil {
		return nil, "the params are not those of tools/call"
	}
	return msg, ""
}

// split returns the messages of a body, if it is a list of them.
func split(body []byte) ([]json.RawMessage, bool) {
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '[' {
		return []json.RawMessage{body}, false
	}
	var list []json.RawMessage
	_ = json.Unmarshal(body, &list)
	return list, true
}
