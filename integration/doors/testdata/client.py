"""Makes calls with hotcell.py: a request a line comes in, an outcome a line goes out.

usage: client.py ADDRESS [URL], where URL is for what a unix socket has not
"""

import base64
import hashlib
import json
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "clients"))
import hotcell  # noqa: E402

client = hotcell.Client(sys.argv[1], os.environ["HOTCELL_TOKEN"])
overREST = client if len(sys.argv) == 2 else None
out = threading.Lock()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def outcome(call):
    said, files = [], {}
    try:
        with client.stream(call["skill"], call["args"], request_id=call.get("id")) as events:
            for event in events:
                if event.kind == "progress":
                    said.append(event.data["message"])
                    if call.get("cancel"):
                        events.cancel()
                elif event.kind == "artifact":
                    files[event.data["name"]] = files.get(event.data["name"], b"") + base64.b64decode(event.data["chunk"])
            result = events.result
        if call.get("files") and overREST:
            with tempfile.TemporaryDirectory() as folder:
                for artifact in overREST.artifacts(result.request_id):
                    with open(overREST.download(result.request_id, artifact.name, folder), "rb") as file:
                        assert files[artifact.name] == file.read() and artifact.complete and artifact.size == os.path.getsize(file.name)
        return {"data": result.data, "said": said, "files": {name: digest(data) for name, data in files.items()}}
    except hotcell.CallError as error:
        return {"code": error.code, "reason": error.reason, "said": said}


def answer(call):
    try:
        told = outcome(call)
    except Exception as error:  # the test shows it
        told = {"fault": repr(error)}
    with out:
        print(json.dumps({"n": call["n"], **told}), flush=True)


for line in sys.stdin:
    threading.Thread(target=answer, args=(json.loads(line),)).start()
