"""A model that only recites: it answers OpenAI's chat completions from a script, to try agent skills without a key.

    python3 docs/examples/model.py docs/examples/model-turns.json 9999

The script is a list of turns. A turn says {"text": "..."} or asks for tools: {"calls": [["time", {"zone": "UTC"}]]}. Which turn
it is, the number of the model's messages in the request tells.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with open(sys.argv[1]) as f:
    TURNS = json.load(f)


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = sum(m["role"] == "assistant" for m in request["messages"])
        turn = TURNS[min(said, len(TURNS) - 1)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in turn.get("text", "").split(" "):
            self.chunk({"content": word + " "} if turn.get("text") else {"role": "assistant"})
        for i, (name, arguments) in enumerate(turn.get("calls", [])):
            call = {"index": i, "id": f"call{said}{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            self.chunk({"tool_calls": [call]})
        self.chunk({}, "tool_calls" if turn.get("calls") else "stop")
        self.event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
        self.wfile.write(b"data: [DONE]\n\n")

    def chunk(self, delta, finish=None):
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def event(self, data):
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "recital"}
        self.wfile.write(b"data: " + json.dumps(head | data).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Model).serve_forever()
