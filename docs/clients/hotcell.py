"""hotcell: find and call skills of a hotcell daemon. One file, Python 3.9 or newer, and nothing to install.

    from hotcell import Client

    with Client("http://127.0.0.1:8765", token="...") as hot:
        for skill in hot.discover():
            print(skill["name"], skill["description"])
        print(hot.call("code-review", {"code": "import os"}, timeout=60).data)

        with hot.stream("code-review", {"code": "import os"}) as events:
            for event in events:
                print(event.kind, event.data)
            print(events.result.summary)

An address that starts with http:// or https:// is the daemon's REST door. Everything else is the path of its unix socket, where
skills are found and called too, and nothing else: the socket speaks A2E, which has no more.

A call that fails raises a CallError, whose class says how: Timeout, OutOfMemory, SandboxCrash, ... A daemon that refuses a
request raises an ApiError, one that can't be reached a ConnectionFailed. All are HotcellErrors, with code, message, retryable,
detail and call_id.

A Client may be used by several threads: each request has a connection of its own.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import json
import os
import random
import re
import socket
import ssl
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

__all__ = [
    "ApiError", "Artifact", "Call", "CallError", "Cancelled", "Client", "ConnectionFailed", "Event", "HotcellError",
    "InvalidRequest", "NotFound", "OutOfMemory", "Result", "RuntimeFailed", "SandboxCrash", "SchemaViolation", "SkillFailed",
    "Stream", "Timeout", "Unauthorized", "UnknownSkill",
]

Json = Dict[str, Any]
T = TypeVar("T")

_MAX_LINE = 64 << 20  # bytes of a line, or of an answer, that are taken from a daemon
_MAX_PAUSE = 60.0  # seconds that Retry-After may ask for
_LONGEST_CALL = 600.0  # seconds, the daemon's own limit
_BEFORE_CALL = 360.0  # seconds that a call may wait for its turn and its image


# Errors


class HotcellError(Exception):
    """Anything that went wrong. retry_after is in seconds, where the daemon said so."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, detail: Optional[Mapping[str, Any]] = None,
                 call_id: str = "", request_id: str = "", status: int = 0, retry_after: Optional[float] = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        self.detail: Json = dict(detail or {})
        self.call_id = call_id
        self.request_id = request_id
        self.status = status
        self.retry_after = retry_after

    @property
    def reason(self) -> str:
        """hotcell's finer word beside the code, or ''."""
        reason = self.detail.get("reason")
        return reason if isinstance(reason, str) else ""


class ConnectionFailed(HotcellError):
    """The daemon can't be reached, hung up, or says what nobody understands. request_id names the call that it was about."""


class ApiError(HotcellError):
    """The daemon refused a request that is no call."""


class NotFound(ApiError):
    """What was asked for is not there, or not this caller's to see."""


class CallError(HotcellError):
    """A call ended without success."""


class UnknownSkill(CallError):
    """There is no such skill for this caller."""


class SkillFailed(CallError):
    """The skill itself failed."""


class RuntimeFailed(CallError):
    """The call could not be run: see reason."""


class Cancelled(RuntimeFailed):
    """The call was cancelled."""


class InvalidRequest(CallError):
    """The request could not be understood."""


class SchemaViolation(CallError):
    """The arguments do not match the skill's schema."""


class Timeout(CallError):
    """The skill did not finish in its time."""


class OutOfMemory(CallError):
    """The skill used more than its memory."""


class SandboxCrash(CallError):
    """The skill's cell ended in a way that nobody announced."""


class Unauthorized(CallError):
    """This caller may not do that, or did not say who it is."""


_CODES: Dict[str, Type[CallError]] = {
    "unknown_skill": UnknownSkill, "skill_error": SkillFailed, "runtime_error": RuntimeFailed, "parse_error": InvalidRequest,
    "invalid_message": InvalidRequest, "version_mismatch": InvalidRequest, "schema_violation": SchemaViolation, "timeout": Timeout,
    "out_of_memory": OutOfMemory, "sandbox_crash": SandboxCrash, "unauthorized": Unauthorized,
}


def _call_error(error: Mapping[str, Any], **about: Any) -> CallError:
    code, detail = str(error.get("code") or "runtime_error"), error.get("detail")
    detail = detail if isinstance(detail, dict) else {}
    kind = _CODES.get(code, CallError)
    if kind is RuntimeFailed and detail.get("reason") == "cancelled":
        kind = Cancelled
    if about.get("retry_after") is None:
        about["retry_after"] = _seconds(detail.get("retry_after"))
    return kind(code, str(error.get("message") or "the call failed"), retryable=error.get("retryable") is True, detail=detail, **about)


# Values


@dataclass(frozen=True)
class Event:
    """Something that a skill said while it ran. kind is progress, artifact, log or status."""

    kind: str
    data: Json
    seq: int
    ts: float
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Result:
    """What a skill gave. call_id names the call in the daemon's journal, request_id is the caller's own name for it."""

    data: Any
    summary: Any
    truncated: bool
    duration_ms: int
    skill: str
    call_id: str
    request_id: str
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Call:
    """A call in the daemon's journal. state is Queued, Preparing, Starting, Running, Stopping, Succeeded, Failed or Canceled."""

    id: str
    request_id: str
    skill: str
    state: str
    code: str
    reason: str
    raw: Json = field(repr=False)

    @property
    def ended(self) -> bool:
        """Whether the call has its answer."""
        return self.state in ("Succeeded", "Failed", "Canceled")


@dataclass(frozen=True)
class Artifact:
    """A file that a skill left. name may have folders in it."""

    name: str
    mime: str
    size: int
    complete: bool
    raw: Json = field(repr=False)


def _event(message: Mapping[str, Any]) -> Event:
    data, seq = message.get("data"), message.get("seq")
    return Event(str(message.get("kind", "")), data if isinstance(data, dict) else {}, seq if isinstance(seq, int) else 0,
                 float(message.get("ts") or 0), dict(message))


def _call(raw: Mapping[str, Any]) -> Call:
    return Call(*(str(raw.get(key) or "") for key in ("id", "req_id", "skill", "state", "code", "reason")), raw=dict(raw))


def _result(answer: Mapping[str, Any], status: int = 0, retry_after: Optional[float] = None) -> Result:
    """The result that an answer holds. One that is no success is raised."""
    ids: Json = {"call_id": str(answer.get("id") or ""), "request_id": str(answer.get("req_id") or "")}
    error, data = answer.get("error"), answer.get("data")
    if isinstance(error, dict):
        raise _call_error(error, status=status, retry_after=retry_after, **ids)
    if not isinstance(data, dict):
        raise ConnectionFailed("protocol", "the answer has neither data nor an error", **ids)
    if data.get("success") is not True:
        raise _call_error({"code": data.get("error_code") or "skill_error", "message": data.get("error")}, status=status, **ids)
    return Result(data.get("data"), data.get("summary"), data.get("truncated") is True, int(data.get("duration_ms") or 0),
                  str(answer.get("name") or ""), raw=dict(answer), **ids)


def _seconds(value: Any) -> Optional[float]:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


# The client


class Client:
    """A hotcell daemon.

    address     http://HOST:PORT, or the path of the daemon's unix socket
    token       a bearer token; left out where the daemon asks for none
    agent       the agent that calls; another one than a token is bound to is Unauthorized
    timeout     seconds for a request that is no call, and for a connection
    retries     how often a request is sent again whose connection was lost, or that the daemon put off. A call is sent again
                under its own request id: it gets the answer that it got, and runs again only where the lost connection had
                cancelled it. A request that was refused for good is never sent again
    """

    def __init__(self, address: str = "http://127.0.0.1:8765", token: Optional[str] = None, *, agent: str = "", timeout: float = 30.0,
                 retries: int = 3, ssl_context: Optional[ssl.SSLContext] = None) -> None:
        if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError("token: expected one word of ASCII characters")
        self._token, self._agent, self._timeout, self._retries = token, agent, timeout, retries
        self._door: Union[_Http, _Lines]
        if address.startswith(("http://", "https://")):
            self._door = _Http(address, token, agent, ssl_context)
        else:
            self._door = _Lines(address[len("unix://"):] if address.startswith("unix://") else address, token, agent)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held open between requests; it is here for with."""

    # Calls

    def discover(self, tags: Sequence[str] = (), categories: Sequence[str] = ()) -> List[Json]:
        """The manifests of the skills that this caller may call, those that have one of the tags and one of the categories."""
        return self._again(lambda: self._door.discover(tags, categories, self._timeout))

    def call(self, skill: str, arguments: Optional[Mapping[str, Any]] = None, *, timeout: Optional[int] = None,
             request_id: Optional[str] = None, files: Optional[Mapping[str, bytes]] = None, **more: Any) -> Result:
        """Run a skill and wait for its result, or raise the CallError that says why there is none.

        timeout is the skill's, in whole seconds. The same request_id with the same arguments is the same call: the daemon gives
        the answer that it gave. files are input files by their paths, which the skill finds below /workspace/in. more are further
        fields of the request: correlation_id, llm_override, metadata.
        """
        request = self._request(skill, arguments, timeout, request_id, files, more)
        return self._again(lambda: self._door.call(request, self._patience(timeout)), request["id"])

    def stream(self, skill: str, arguments: Optional[Mapping[str, Any]] = None, *, timeout: Optional[int] = None,
               request_id: Optional[str] = None, files: Optional[Mapping[str, bytes]] = None, **more: Any) -> Stream:
        """Run a skill and iterate over its events as they come; then result is there, or the CallError is raised.

        Leaving the with block before the end hangs up, which cancels the call.
        """
        request = self._request(skill, arguments, timeout, request_id, files, more)
        return Stream(self, request, self._again(lambda: self._door.open(request, self._patience(timeout)), request["id"]))

    def cancel(self, call: str) -> None:
        """Ask a call to end, by its call id or request id. NotFound: there is none; ApiError: it has ended already."""
        self._json("DELETE", "/v1/calls/" + _quoted(call))

    # The journal

    def calls(self, limit: int = 100) -> List[Call]:
        """This caller's calls, newest first."""
        return [_call(raw) for raw in _objects(self._json("GET", f"/v1/calls?limit={int(limit)}"), "calls")]

    def show(self, call: str) -> Tuple[Call, Optional[Result]]:
        """A call, and its result if it has one. A call that failed raises nothing here: see code and reason, or answer."""
        body = self._json("GET", "/v1/calls/" + _quoted(call))
        answer = body.get("answer")
        result = None
        if isinstance(answer, dict):
            with contextlib.suppress(CallError):
                result = _result(answer)
        return _call(body.get("call") or {}), result

    def answer(self, call: str) -> Result:
        """The result of a call that has ended; raises what it ended with, or LookupError while it runs."""
        answer = self._json("GET", "/v1/calls/" + _quoted(call)).get("answer")
        if not isinstance(answer, dict):
            raise LookupError(f"call {call} has not ended")
        return _result(answer)

    def events(self, call: str, after: int = -1) -> Iterator[Event]:
        """The events that are kept of a call, those with a sequence number above after."""
        while True:
            page = _objects(self._json("GET", f"/v1/calls/{_quoted(call)}/events?from={after + 1}"), "events")
            for raw in page:
                event = _event(raw)
                yield event
                after = max(after, event.seq)
            if not page:
                return

    # Artifacts

    def artifacts(self, call: str) -> List[Artifact]:
        """The files that a call left."""
        found = _objects(self._json("GET", f"/v1/calls/{_quoted(call)}/artifacts"), "artifacts")
        return [Artifact(str(a.get("name") or ""), str(a.get("mime") or ""), int(a.get("bytes") or 0), a.get("complete") is True, a) for a in found]

    def download(self, call: str, name: str, folder: str, *, replace: bool = False) -> str:
        """Write an artifact into a folder, and return the file's path.

        The name is the skill's, and so hostile: one that would end outside of the folder is a ValueError, and no link within
        the folder is followed. The file is there whole or not at all.
        """
        target = _within(folder, name)
        if not replace and os.path.lexists(target):
            raise FileExistsError(f"{target} is there already")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _within(folder, name)  # again: a folder of that name may have become a link
        handle, part = tempfile.mkstemp(prefix=".hotcell-", dir=os.path.dirname(target))
        try:
            with os.fdopen(handle, "wb") as file:
                self._again(lambda: self._fetch(call, name, file))
            os.chmod(part, 0o644)
            if replace:
                os.replace(part, target)
            else:
                os.link(part, target)  # unlike a rename, it replaces nothing
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
        return target

    def read_artifact(self, call: str, name: str, limit: int = _MAX_LINE) -> bytes:
        """An artifact's content; a ValueError if it is longer than limit bytes."""
        with self._rest().request("GET", f"/v1/calls/{_quoted(call)}/artifacts/{_quoted(name, '/')}", None, self._timeout) as answer:
            data = answer.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"artifact {name!r} is longer than {limit} bytes")
        return data

    # Reading skills

    def skills(self, principal: Optional[int] = None) -> List[Json]:
        """The skills that this caller can read: what is shipped, and the custom ones of a principal."""
        return _objects(self._data("/api/v1/skills", principal), "skills")

    def skill(self, slug: str, principal: Optional[int] = None) -> Json:
        """A skill with its instructions and its listing of files."""
        body = self._data("/api/v1/skills/" + _quoted(slug), principal)
        found = body.get("skill")
        if not isinstance(found, dict):
            raise ConnectionFailed("protocol", "the answer has no skill")
        return {**found, "source": body.get("source")}

    def skill_file(self, slug: str, path: str, principal: Optional[int] = None) -> bytes:
        """A file of a skill."""
        body = self._data(f"/api/v1/skills/{_quoted(slug)}/files/{_quoted(path, '/')}", principal)
        content = body.get("content")
        if not isinstance(content, str):
            raise ConnectionFailed("protocol", "the answer has no content")
        return base64.b64decode(content) if body.get("encoding") == "base64" else content.encode()

    # Below

    def _request(self, skill: str, arguments: Optional[Mapping[str, Any]], timeout: Optional[int], request_id: Optional[str],
                 files: Optional[Mapping[str, bytes]], more: Mapping[str, Any]) -> Json:
        request: Json = {"id": request_id or uuid.uuid4().hex, "name": skill, "arguments": dict(arguments or {})}
        if timeout is not None:
            request["timeout"] = int(timeout)
        for key in more:
            if key not in ("correlation_id", "llm_override", "metadata"):
                raise TypeError(f"a call has no field {key!r}")
        request.update(more)
        if files:
            self._rest()
            request["files"] = {path: base64.b64encode(content).decode() for path, content in files.items()}
        if self._agent and isinstance(self._door, _Http):
            request["agent_id"] = self._agent
        return request

    def _patience(self, timeout: Optional[int]) -> float:
        return float(timeout or _LONGEST_CALL) + _BEFORE_CALL

    def _rest(self) -> _Http:
        if isinstance(self._door, _Http):
            return self._door
        raise NotImplementedError("the unix socket speaks A2E, which finds and calls skills: give the client the daemon's http:// address for more")

    def _json(self, method: str, path: str) -> Json:
        def ask() -> Json:
            with self._rest().request(method, path, None, self._timeout) as answer:
                return answer.json()
        return self._again(ask)

    def _data(self, path: str, principal: Optional[int]) -> Json:
        body = self._json("GET", path + (f"?principal_id={int(principal)}" if principal is not None else ""))
        data = body.get("data")
        return data if isinstance(data, dict) else body

    def _fetch(self, call: str, name: str, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        with self._rest().request("GET", f"/v1/calls/{_quoted(call)}/artifacts/{_quoted(name, '/')}", None, self._timeout) as answer:
            while True:
                piece = answer.read(1 << 20)
                if not piece:
                    return
                file.write(piece)

    def _again(self, ask: Callable[[], T], request_id: str = "") -> T:
        """Ask until there is an answer, or a refusal that will not change."""
        for attempt in range(self._retries + 1):
            try:
                return ask()
            except ConnectionFailed as lost:
                lost.request_id = lost.request_id or request_id
                if attempt == self._retries or not lost.retryable:
                    raise
                pause = min(2.0 ** attempt, 8.0) * random.uniform(0.1, 0.3)
            except HotcellError as put_off:
                if attempt == self._retries or put_off.retry_after is None or put_off.status not in (429, 503):
                    raise
                if put_off.retry_after > _MAX_PAUSE:
                    raise
                pause = put_off.retry_after
            time.sleep(pause)
        raise AssertionError("unreachable")


class Stream:
    """A call that runs: its events, and then its result. It is to be closed, or used with with."""

    def __init__(self, client: Client, request: Json, messages: _Messages) -> None:
        self._client, self._request, self._messages = client, request, messages
        self._answer: Optional[Json] = None
        self._cancelled = threading.Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. A call that has not ended is cancelled by that."""
        self._messages.close()

    @property
    def request_id(self) -> str:
        """What this call was sent under."""
        return str(self._request["id"])

    def __iter__(self) -> Iterator[Event]:
        while self._answer is None:
            message = self._next()
            if message is not None:
                yield _event(message)
        self.result  # raises what it ended with

    def _next(self) -> Optional[Json]:
        """The next event; None at the end."""
        for message in self._messages:
            if message.get("type") == "skill/event":
                return message
            if message.get("type") in ("skill/call/resp", "error"):
                self._answer = message
                return None
        if self._cancelled.is_set():
            raise Cancelled("runtime_error", "the call was cancelled", detail={"reason": "cancelled"}, request_id=self.request_id)
        raise ConnectionFailed("connection", "the stream ended before the call", retryable=True, request_id=self.request_id)

    @property
    def result(self) -> Result:
        """The result; waits for it, past events that nobody looked at. Raises what the call ended with."""
        while self._answer is None:
            self._next()
        if self._answer.get("type") == "error":
            raise _call_error(self._answer, request_id=self.request_id)
        return _result(self._answer)

    def cancel(self) -> None:
        """Ask the call to end. The stream goes on until its answer; over a unix socket it is hung up."""
        self._cancelled.set()
        if isinstance(self._client._door, _Lines):
            self._messages.shutdown()
        else:
            self._client.cancel(self.request_id)


def _objects(body: Mapping[str, Any], key: str) -> List[Json]:
    found = body.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ConnectionFailed("protocol", f"the answer has no list {key}")
    return found


def _quoted(part: str, safe: str = "") -> str:
    if not part or any(step in ("", ".", "..") for step in part.split("/")) and safe or part in (".", ".."):
        raise ValueError(f"{part!r} can't be a part of an address")
    return urllib.parse.quote(part, safe=safe)


def _within(folder: str, name: str) -> str:
    """The path of a name below a folder, links in between resolved."""
    steps = name.split("/")
    if not name or "\\" in name or "\0" in name or any(step in ("", ".", "..") for step in steps) or os.path.splitdrive(name)[0]:
        raise ValueError(f"artifact {name!r}: expected a path below a folder")
    root = os.path.realpath(folder)
    parent = os.path.realpath(os.path.join(root, *steps[:-1]))
    if parent != root and not parent.startswith(root.rstrip(os.sep) + os.sep):
        raise ValueError(f"artifact {name!r}: its folder is a link that leads out of {folder}")
    return os.path.join(parent, steps[-1])


# How messages come


class _Messages:
    """The messages of one call, until its end or until it is closed."""

    def __init__(self, lines: Iterator[bytes], close: Any, hang_up: Any) -> None:
        self._lines, self._close, self._hang_up = lines, close, hang_up

    def __iter__(self) -> Iterator[Json]:
        for line in self._lines:
            yield _parse(line)

    def close(self) -> None:
        self._close()

    def shutdown(self) -> None:
        """Hang up while another thread reads."""
        self._hang_up()


def _parse(text: bytes) -> Json:
    try:
        message = json.loads(text)
    except ValueError:
        raise ConnectionFailed("protocol", "the daemon said something that is no JSON") from None
    if not isinstance(message, dict):
        raise ConnectionFailed("protocol", "the daemon said something that is no JSON object")
    return message


@contextlib.contextmanager
def _lost(what: str) -> Iterator[None]:
    """Makes ConnectionFailed of what sockets raise."""
    try:
        yield
    except ssl.SSLCertVerificationError as refused:
        raise ConnectionFailed("connection", f"{what}: {refused}") from refused
    except (OSError, http.client.HTTPException) as lost:
        raise ConnectionFailed("connection", f"{what}: {lost or type(lost).__name__}", retryable=not isinstance(lost, socket.gaierror)) from lost


class _Http:
    """The daemon's REST door."""

    def __init__(self, address: str, token: Optional[str], agent: str, context: Optional[ssl.SSLContext]) -> None:
        url = urllib.parse.urlsplit(address)
        if not url.hostname or url.username or url.password or url.query or url.fragment:
            raise ValueError(f"address {address!r}: expected one such as http://127.0.0.1:8765")
        self.base = f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"
        self._secure, self._host, self._path = url.scheme == "https", url.hostname, url.path.rstrip("/")
        self._port = url.port or (443 if self._secure else 80)
        self._netloc, self._token, self._agent = url.netloc, token, agent
        self._context = context or (ssl.create_default_context() if self._secure else None)
        self._proxy = _proxy(url.scheme, self._host)

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._proxy or (self._host, self._port)
        if not self._secure:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=self._context)
        if self._proxy:
            connection.set_tunnel(self._host, self._port)
        return connection

    def request(self, method: str, path: str, body: Optional[Json], timeout: float, accept: str = "application/json") -> _Answer:
        """Ask, and raise what is no success."""
        headers = {"Accept": accept, "Connection": "close", "User-Agent": "hotcell.py"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        target = self._path + path
        if self._proxy and not self._secure:
            target = f"http://{self._netloc}{target}"
        connection = self.connect(timeout)
        try:
            with _lost(self.base):
                connection.request(method, target, data, headers)
                answer = _Answer(self, connection, connection.getresponse())
        except BaseException:
            connection.close()
            raise
        if answer.status // 100 != 2:
            with answer:
                answer.refuse()
        return answer

    def discover(self, tags: Sequence[str], categories: Sequence[str], timeout: float) -> List[Json]:
        query = urllib.parse.urlencode([("tag", tag) for tag in tags] + [("category", name) for name in categories] +
                                       ([("agent_id", self._agent)] if self._agent else []))
        with self.request("GET", "/v1/skills" + ("?" + query if query else ""), None, timeout) as answer:
            return _objects(answer.json(), "skills")

    def call(self, request: Json, patience: float) -> Result:
        with self.request("POST", "/v1/calls", request, patience) as answer:
            body = answer.json()
            inner = body.get("answer")
            return _result(inner if isinstance(inner, dict) else body, answer.status, answer.retry_after)

    def open(self, request: Json, patience: float) -> _Messages:
        answer = self.request("POST", "/v1/calls", request, patience, "application/x-ndjson")
        return _Messages(answer.lines(), answer.close, answer.shutdown)


class _Answer:
    """An HTTP answer whose body has not been read."""

    def __init__(self, door: _Http, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._door, self._connection, self._response = door, connection, response
        self._socket = connection.sock
        self.status = response.status
        self.retry_after = _seconds(response.headers.get("Retry-After"))

    def __enter__(self) -> _Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def shutdown(self) -> None:
        with contextlib.suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)

    def read(self, size: int) -> bytes:
        with _lost(self._door.base):
            data = self._response.read(size)
        if len(data) < size and self._response.length:
            raise ConnectionFailed("connection", f"{self._door.base}: the answer was cut off", retryable=True)
        return data

    def json(self) -> Json:
        text = self.read(_MAX_LINE + 1)
        if len(text) > _MAX_LINE:
            raise ConnectionFailed("protocol", f"{self._door.base}: the answer is longer than {_MAX_LINE} bytes")
        return _parse(text)

    def lines(self) -> Iterator[bytes]:
        while True:
            with _lost(self._door.base):
                line = self._response.readline(_MAX_LINE + 1)
            if len(line) > _MAX_LINE:
                raise ConnectionFailed("protocol", f"{self._door.base}: a line is longer than {_MAX_LINE} bytes")
            if not line:
                return
            if line.strip():
                yield line

    def refuse(self) -> None:
        """Raise what a refusal says."""
        try:
            body = self.json()
        except ConnectionFailed:
            body = {}
        if body.get("type") == "skill/call/resp":
            _result(body, self.status, self.retry_after)
        error = body.get("error")
        error = error if isinstance(error, dict) else {"code": f"http_{self.status}", "message": f"{self._door.base} answers with status {self.status}"}
        about: Json = {"status": self.status, "retry_after": self.retry_after}
        if error.get("code") in _CODES:
            raise _call_error(error, **about)
        detail = error.get("detail")
        kind = NotFound if self.status == 404 else ApiError
        raise kind(str(error.get("code")), str(error.get("message")), retryable=self.status in (429, 502, 503, 504) or error.get("retryable") is True,
                   detail=detail if isinstance(detail, dict) else {key: error[key] for key in error if key not in ("code", "message")}, **about)


def _proxy(scheme: str, host: str) -> Optional[Tuple[str, int]]:
    """The proxy that the environment names for a host; none for this machine itself."""
    name = host.rstrip(".").lower()
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host.split("%")[0]).is_loopback:
            return None
    if name == "localhost" or name.endswith(".localhost") or urllib.request.proxy_bypass(host):
        return None
    named = urllib.request.getproxies().get(scheme)
    if not named:
        return None
    url = urllib.parse.urlsplit(named if "://" in named else "http://" + named)
    if url.scheme != "http" or not url.hostname or url.username:
        raise ValueError(f"{scheme}_proxy: expected one such as http://proxy:3128")
    return url.hostname, url.port or 80


class _Lines:
    """The daemon's unix socket, which speaks A2E."""

    def __init__(self, path: str, token: Optional[str], agent: str) -> None:
        if not path or re.fullmatch(r"[^/]*:[0-9]+/?", path):  # HOST:PORT alone is no socket's name
            raise ValueError(f"address {path!r}: expected http://HOST:PORT or the path of a unix socket")
        self.path, self.token, self.agent = path, token, agent

    def open_session(self, timeout: float) -> _Session:
        return _Session(self, timeout)

    def discover(self, tags: Sequence[str], categories: Sequence[str], timeout: float) -> List[Json]:
        with contextlib.closing(self.open_session(timeout)) as session:
            session.send({"type": "skill/discover/req", "id": uuid.uuid4().hex, "filter_tags": list(tags), "filter_categories": list(categories)})
            return _objects(session.until("skill/discover/resp"), "skills")

    def call(self, request: Json, patience: float) -> Result:
        with contextlib.closing(self.open_session(patience)) as session:
            session.send({"type": "skill/call/req", "streaming": False, **request})
            return _result(session.until("skill/call/resp"))

    def open(self, request: Json, patience: float) -> _Messages:
        session = self.open_session(patience)
        try:
            session.send({"type": "skill/call/req", **request})
        except BaseException:
            session.close()
            raise
        return _Messages(session.lines(), session.close, session.shutdown)


class _Session:
    """One connection to a unix socket."""

    def __init__(self, door: _Lines, timeout: float) -> None:
        self._path = door.path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            with _lost(self._path):
                self._socket.connect(door.path)
            self._file = self._socket.makefile("rb")
            if door.token or door.agent:
                self._shake(door)
        except BaseException:
            self._socket.close()
            raise

    def _shake(self, door: _Lines) -> None:
        self.send({"type": "handshake/req", "id": uuid.uuid4().hex, "agent_id": door.agent, "agent_caps": ["skill"], "auth_token": door.token or ""})
        answer = self.until("handshake/resp")
        if answer.get("ok") is not True:
            raise Unauthorized("unauthorized", f"the daemon refused the session: {answer.get('reason') or 'no reason given'}")

    def send(self, message: Json) -> None:
        line = json.dumps({"version": "1.0", "ts": time.time(), **message}, ensure_ascii=False, allow_nan=False)
        with _lost(self._path):
            self._socket.sendall(line.encode() + b"\n")

    def lines(self) -> Iterator[bytes]:
        while True:
            with _lost(self._path):
                line = self._file.readline(_MAX_LINE + 1)
            if len(line) > _MAX_LINE:
                raise ConnectionFailed("protocol", f"{self._path}: a line is longer than {_MAX_LINE} bytes")
            if not line:
                return
            if line.strip():
                yield line

    def until(self, kind: str) -> Json:
        """The next message of a kind; an error message is raised."""
        for line in self.lines():
            message = _parse(line)
            if message.get("type") == kind:
                return message
            if message.get("type") == "error":
                raise _call_error(message, request_id=str(message.get("req_id") or ""))
        raise ConnectionFailed("connection", f"{self._path}: the daemon hung up", retryable=True)

    def shutdown(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._file.close()
        self._socket.close()
