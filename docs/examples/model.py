"""A model that only recites: it answers OpenAI's chat completions from a script, to try skills without a key.

    python3 docs/examples/model.py docs/examples/model-turns.json 9999

The script is a list of turns. A turn says {"text": "..."} or asks for tools: {"calls": [["time", {"zone": "UTC"}]]}. Which turn
it is, the number of the model's messages in the request tells.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if len(sys.argv) != 3 or not sys.argv[2].isdigit():
    raise SystemExit("usage: model.py TURNS.json PORT")
try:
    with open(sys.argv[1], encoding="utf-8") as f:
        TURNS = json.load(f)
except (OSError, ValueError) as error:
    raise SystemExit(f"{sys.argv[1]}: {error}") from None

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = sum(m["role"] == "assistant" for m in request["messages"])
        turn = TURNS[min(said, len(TURNS) - 1)]
        if not request.get("stream"):
            return self.whole(turn, said)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in turn.get("text", "").split(" "):
            self.chunk({"content": word + " "} if turn.get("text") else {"role": "assistant"})
        for i, call in enumerate(self.calls(turn, said)):
            self.chunk({"tool_calls": [{"index": i} | call]})
        self.chunk({}, "tool_calls" if turn.get("calls") else "stop")
        self.event({"choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def whole(self, turn, said):
        message = {"role": "assistant", "content": turn.get("text")}
        if turn.get("calls"):
            message["tool_calls"] = self.calls(turn, said)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if turn.get("calls") else "stop"}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "recital", "choices": [choice], "usage": USAGE}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def calls(self, turn, said):
        return [
            {"id": f"call{said}{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(turn.get("calls", []))
        ]

    def chunk(self, delta, finish=None):
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def event(self, data):
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "recital"}
        self.wfile.write(b"data: " + json.dumps(head | data).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


try:
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Model)
    print(f"OPENAI_BASE_URL=http://127.0.0.1:{server.server_port}/v1", file=sys.stderr, flush=True)
    server.serve_forever()
except OSError as error:
    raise SystemExit(f"port {sys.argv[2]}: {error}") from None
except KeyboardInterrupt:
    pass
