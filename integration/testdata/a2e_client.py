"""A client of A2E over HTTP that behaves as upstream's does: it asks for its session with no content type, posts up to three
times with the same message, reads events with a back-off and without Last-Event-ID, splits text where Python splits it, and
looks at nothing but data. On top of that it makes the mistakes of a bad network: it loses answers and its stream."""
import json
import sys
import threading
import time
import urllib.error
import urllib.request


class Client:
    def __init__(self, base):
        self.base, self.messages, self.new = base, [], threading.Condition()
        request = urllib.request.Request(base + "/session", method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.session = json.load(answer)["session_id"]
        self.headers = {"Content-Type": "text/plain", "X-Session-Id": self.session}
        self.stop, self.streams, self.current = False, 0, None
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def post(self, message, lose=0):
        """lose is how many answers never arrive: the message is posted again all the same."""
        body, last = json.dumps(message).encode(), None
        for attempt in range(3 + lose):
            try:
                request = urllib.request.Request(self.base + "/send", body, self.headers)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    if json.load(answer) != {"ok": True}:
                        sys.exit("an answer that is not ok")
                if attempt >= lose:
                    return
            except OSError as fault:
                last = fault
                time.sleep(0.2)
        sys.exit("send failed: %s" % last)

    def listen(self):
        pause = 0.1
        while not self.stop:
            try:
                request = urllib.request.Request(self.base + "/stream", headers=self.headers)
                with urllib.request.urlopen(request, timeout=60) as stream:
                    self.current, pause = stream, 0.1
                    self.streams += 1
                    charset = stream.headers.get_content_charset() or "iso-8859-1"
                    self.parse(stream, charset)
            except (OSError, ValueError, AttributeError):
                time.sleep(pause)
                pause = min(2 * pause, 2)

    def parse(self, stream, charset):
        data = []
        for raw in stream:
            for line in raw.decode(charset).splitlines():
                if line == "" and data:
                    with self.new:
                        self.messages.append(json.loads("\n".join(data)))
                        self.new.notify_all()
                    data = []
                elif line.startswith("data:"):
                    data.append(line[5:].lstrip(" "))
                elif line:
                    sys.exit("the stream has %r" % line)

    def drop(self):
        """loses the connection, whenever it is."""
        if self.current:
            self.current.close()

    def wait(self, want, timeout=120):
        with self.new:
            if not self.new.wait_for(lambda: any(want(m) for m in self.messages), timeout):
                sys.exit("no such message among %s" % json.dumps(self.messages)[:2000])
            return next(m for m in self.messages if want(m))

    def rpc(self, message, kind, lose=0):
        self.post(message, lose)
        return self.wait(lambda m: m.get("req_id") == message["id"] and m["type"] == kind)


def check(what, got, want):
    if got != want:
        sys.exit("%s: %r, want %r" % (what, got, want))


client = Client(sys.argv[1])
shaken = client.rpc({"type": "handshake/req", "id": "h", "agent_id": "me", "agent_caps": ["streaming", "artifacts"]}, "handshake/resp", lose=1)
check("handshake", (shaken["ok"], shaken["session_id"], shaken["max_parallel"]), (True, client.session, 16))
found = client.rpc({"type": "skill/discover/req", "id": "d"}, "skill/discover/resp")
check("skill", [s["name"] for s in found["skills"] if s["name"] == "teller"], ["teller"])

text = "d\u00e9j\u00e0 vu \u0085 \u2028 \U0001f980"
for n in range(4):
    call = {"type": "skill/call/req", "id": "c%d" % n, "name": "teller", "arguments": {"text": text, "n": n}, "timeout": 60}
    client.post(call, lose=n % 3)
for n in range(4):
    answer = client.wait(lambda m: m.get("req_id") == "c%d" % n and m["type"] == "skill/call/resp")
    check("answer %d" % n, (answer["data"]["success"], answer["data"].get("data")), (True, {"text": text, "n": n}))
for n in range(4):
    events = [m for m in client.messages if m.get("req_id") == "c%d" % n and m["type"] == "skill/event"]
    check("events %d" % n, [m["seq"] for m in events], list(range(len(events))))
    check("said %d" % n, [m["data"]["message"] for m in events if m["kind"] == "status"], [text] * 3)
    answers = [m["id"] for m in client.messages if m.get("req_id") == "c%d" % n and m["type"] == "skill/call/resp"]
    check("answers %d" % n, len(set(answers)), 1)

before = client.streams
client.post({"type": "skill/call/req", "id": "away", "name": "teller", "arguments": {"text": text, "n": 9, "seconds": 1}})
client.drop()
client.wait(lambda m: m.get("req_id") == "away" and m["type"] == "skill/call/resp")
if client.streams <= before:
    sys.exit("the stream was not lost")
client.rpc({"type": "ping", "id": "p"}, "pong")
client.stop = True
client.post({"type": "shutdown", "timeout": 10})
print("fine: %d streams" % client.streams)
