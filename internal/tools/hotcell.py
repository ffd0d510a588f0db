"""What a skill says to the host that runs it, and what it asks of it.

    import hotcell

    args = hotcell.arguments()
    hotcell.progress(10, "Counting")
    total = hotcell.tool("calculator", expression="1/3 + 1/6")["result"]
    hotcell.artifact("/workspace/report.pdf")
    hotcell.result({"total": total}, summary=f"It is {total}")

It needs nothing beside Python's standard library, and is in every cell that starts Python.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Union

    Source = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]"]

__all__ = [
    "ToolError", "arguments", "artifact", "event", "fail", "log", "model", "progress", "request", "result", "status", "tool", "tools",
]

_CHUNK = 256 * 1024  # raw bytes of one artifact event
_lock = allocate_lock()
_request: "dict[str, Any] | None" = None


class ToolError(Exception):
    """A tool was refused, or went wrong.

    ``code`` is one of skill_not_found, resolution_failure, cycle_detected, tool_activation_failure,
    tool_execution_failure, validation_error and permission_denied.
    """

    def __init__(self, tool: str, message: str, code: str = "tool_execution_failure") -> None:
        super().__init__(f"{tool}: {message}" if tool else message)
        self.tool = tool
        self.message = message
        self.code = code


def request() -> "dict[str, Any]":
    """The request that started this skill. It waits for it, where the skill was started ahead of its call."""
    global _request
    with _lock:
        if _request is None:
            line = sys.stdin.readline()
            if not line.strip():
                with open(os.environ["HOTCELL_REQUEST"], encoding="utf-8") as f:
                    line = f.read()
            _request = json.loads(line)
        return _request


def arguments() -> "dict[str, Any]":
    """The arguments of the call."""
    return request().get("arguments") or {}


def model() -> "dict[str, Any]":
    """The model that this call was granted: provider, kind, model, and config where there is any.

    The name under model is empty where the skill is free to choose. Without a model it raises a RuntimeError.
    """
    request()  # what was granted is there once the request is
    try:
        with open("/run/hotcell/lease.json", encoding="utf-8") as f:
            granted = json.load(f).get("model")
    except FileNotFoundError:
        granted = None
    if not granted:
        raise RuntimeError("this skill has no model: skill.yaml must ask for one with llm")
    return granted


def _say(line: "Mapping[str, Any]") -> None:
    text = json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n"
    with _lock:
        sys.stdout.write(text)
        sys.stdout.flush()


def event(kind: str, data: "Mapping[str, Any]") -> None:
    """Sends an event. The kinds that hosts know are progress, status, log and artifact."""
    _say({"type": "skill/event", "kind": kind, "data": dict(data)})


def progress(pct: float, message: str = "") -> None:
    """Says how far the skill is, from 0 to 100."""
    event("progress", {"pct": int(max(0, min(100, pct))), "message": str(message)})


def status(message: str) -> None:
    """Says what the skill is doing."""
    event("status", {"message": str(message)})


def log(message: object, level: str = "info") -> None:
    """Writes to the call's log. The levels are debug, info, warn and error."""
    event("log", {"level": level, "message": str(message)})


def artifact(source: "Source", name: "str | None" = None, mime: "str | None" = None) -> None:
    """Hands a file to the caller, or bytes, which need a name.

    Files that are left in /out are handed over by themselves.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        if not name:
            raise ValueError("artifact: bytes need a name")
        _artifact(iter(_pieces(memoryview(source).cast("B"))), name, mime)
        return
    with open(source, "rb") as f:
        _artifact(iter(lambda: f.read(_CHUNK), b""), name or os.path.basename(os.fspath(source)), mime)


def _pieces(data: memoryview) -> "list[bytes]":
    return [bytes(data[i : i + _CHUNK]) for i in range(0, len(data), _CHUNK)]


def _artifact(pieces: "Any", name: str, mime: "str | None") -> None:
    from base64 import b64encode

    if mime is None:
        from mimetypes import guess_type

        mime = guess_type(name)[0] or "application/octet-stream"
    piece = next(pieces, b"")
    while True:
        following = next(pieces, None)
        chunk = b64encode(piece).decode("ascii")
        event("artifact", {"name": name, "mime": mime, "chunk": chunk, "final": following is None})
        if following is None:
            return
        piece = following


def result(data: "Any" = None, summary: "Any" = None) -> None:
    """Ends the skill well. The first result counts; the process ends itself."""
    line: "dict[str, Any]" = {"type": "skill/result", "success": True, "data": data}
    if summary is not None:
        line["summary"] = summary
    _say(line)


def fail(message: str, code: "str | None" = None, retryable: "bool | None" = None) -> None:
    """Ends the skill with an error. code is the skill's own word; retryable False tells callers not to try again."""
    line: "dict[str, Any]" = {"type": "skill/result", "success": False, "error": str(message)}
    if code is not None:
        line["error_code"] = code
    if retryable is not None:
        line["retryable"] = retryable
    _say(line)


def tools() -> "list[dict[str, Any]]":
    """The tools that this call may use: name, description, input_schema, writes."""
    return _ask("GET", "", None, "")["tools"]


def tool(name: str, /, **arguments: "Any") -> "Any":
    """Uses a tool that skill.yaml declares, and returns its data. Threads may do so at the same time.

    It raises a ToolError.
    """
    from urllib.parse import quote

    answer = _ask("POST", "/" + quote(name, safe=""), json.dumps(arguments, allow_nan=False), name)
    return answer.get("data")


def _ask(method: str, path: str, body: "str | None", name: str) -> "dict[str, Any]":
    from http.client import HTTPConnection, HTTPException

    url = os.environ.get("HOTCELL_TOOLS_URL", "")
    if not url:
        raise ToolError(name, "this skill has no tools: skill.yaml declares none", "permission_denied")
    host = url.split("://", 1)[-1].rstrip("/")  # a loopback port of the cell: no proxy lies between
    headers = {"Authorization": "Bearer " + os.environ.get("HOTCELL_TOKEN", ""), "Content-Type": "application/json"}
    connection = HTTPConnection(host)
    try:
        connection.request(method, "/v1/tools" + path, None if body is None else body.encode("utf-8"), headers)
        response = connection.getresponse()
        raw = response.read()
    except (OSError, HTTPException) as e:
        raise ToolError(name, f"the host does not answer: {e}", "tool_activation_failure") from e
    finally:
        connection.close()
    return _read(response.status, raw, name)


def _read(status: int, raw: bytes, name: str) -> "dict[str, Any]":
    try:
        answer = json.loads(raw)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        answer = {"error": raw[:200].decode("utf-8", "replace").strip() or f"HTTP status {status}"}
    if status != 200:
        code = "permission_denied" if status == 403 else "tool_execution_failure"
        raise ToolError(name, str(answer.get("error", "")), str(answer.get("code") or code))
    return answer
