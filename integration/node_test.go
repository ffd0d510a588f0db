package integration

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/testutil"
)

// nodeImage is made by scripts/image-node.
const nodeImage = "hotcell/node-sdks:1"

// nodeClient uses a provider's official client as anybody would.
const nodeClient = `const os = require("os");
const OpenAI = require("openai"), Anthropic = require("@anthropic-ai/sdk");
const messages = [{ role: "user", content: "Say hello." }], model = "small";
async function openai() {
  const client = new OpenAI();
  const whole = await client.chat.completions.create({ model, messages });
  const stream = [];
  for await (const part of await client.chat.completions.create({ model, messages, stream: true }))
    if (part.choices[0]?.delta?.content) stream.push(part.choices[0].delta.content);
  return { chat: whole.choices[0].message.content, stream };
}
async function anthropic() {
  const client = new Anthropic();
  const ask = { model, messages, max_tokens: 100 };
  const whole = await client.messages.create(ask);
  const stream = [];
  for await (const ev of client.messages.stream(ask))
    if (ev.type === "content_block_delta") stream.push(ev.delta.text);
  return { chat: whole.content[0].text, stream };
}
const use = { openai, anthropic }[process.argv[2]];
use().then((said) => console.log(JSON.stringify({ ...said, interfaces: Object.keys(os.networkInterfaces()) })));
`

// The official clients for Node work unmodified in a cell without a network.
func TestOfficialNodeClientsInACell(t *testing.T) {
	testutil.Require(t, "image-node")
	u := newUpstream(t)
	b := models(t, u)
	folders := fstest.MapFS{}
	for _, client := range []string{"openai", "anthropic"} {
		name := "node-" + client
		folders[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: uses a model\n---\n"), Mode: 0o644}
		folders[name+"/client.js"] = &fstest.MapFile{Data: []byte(nodeClient), Mode: 0o644}
		folders[name+"/skill.yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"run: {image: '%s', command: [node, client.js, %s]}\nllm: {provider: %s}\nlimits: {memory: 512Mi}\n", nodeImage, client, client), Mode: 0o644}
	}
	opts := rig.Options{
		Skills: folders,
		Adjust: func(c *executor.Config) { c.Services, c.Models = []service.Service{b}, true },
	}
	everywhere(t, opts, func(t *testing.T, r *rig.Rig) {
		for _, client := range []string{"openai", "anthropic"} {
			got := ask(t.Context(), r, request("node-"+client, 60), nil)
			if got.answer.Error != nil {
				t.Errorf("%s: %v", client, got.answer.Error)
				continue
			}
			want := map[string]any{"chat": "hello", "stream": []any{"hel", "lo"}, "interfaces": []any{"lo"}}
			if d := cmp.Diff(want, got.data(t)); d != "" {
				t.Errorf("%s (-want +got):\n%s", client, d)
			}
		}
	})
}
