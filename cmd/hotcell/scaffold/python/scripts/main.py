import json
import sys

request = json.loads(sys.stdin.readline())
name = request["arguments"]["name"]
print(json.dumps({"type": "skill/event", "kind": "progress", "data": {"pct": 50, "message": "Thinking"}}))
print(json.dumps({"type": "skill/result", "success": True, "data": {"greeting": f"Hello, {name}!"}, "summary": "Greeted"}))
