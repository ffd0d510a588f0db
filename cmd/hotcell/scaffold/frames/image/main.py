import json
import sys


def say(line):
    print(json.dumps(line), flush=True)


say({"type": "cell/ready", "protocol": 1})
for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "skill/call/req":
        name = line["arguments"]["name"]
        say({"type": "skill/event", "kind": "progress", "data": {"pct": 50, "message": "Thinking"}})
        say({"type": "skill/result", "success": True, "data": {"greeting": f"Hello, {name}!"}, "summary": "Greeted"})
    elif line["type"] == "cell/done":
        break
