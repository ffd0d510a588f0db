"""Tests of docs/clients/hotcell.py. usage: hotcell_test.py URL SOCKET, of a daemon with the skills of the catalogue."""

import contextlib
import http.server
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "clients"))
import hotcell  # noqa: E402
from hotcell import Client  # noqa: E402

SUCCESS = {"type": "skill/call/resp", "id": "c1", "req_id": "r1", "name": "echo", "data": {"success": True, "data": 1, "summary": None, "duration_ms": 5}}


class Server(contextlib.ExitStack):
    """An HTTP server whose answers are a list of (status, headers, body); None hangs up. What was asked is kept."""

    def __init__(self, *answers):
        super().__init__()
        self.answers, self.asked = list(answers), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                outer.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
                answer = outer.answers.pop(0) if outer.answers else None
                if answer is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            do_GET = do_DELETE = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.callback(thread.join)
        self.callback(self.server.server_close)
        self.callback(self.server.shutdown)


class WithoutDaemon(unittest.TestCase):
    def test_a_lost_call_is_sent_again_under_its_own_id(self):
        with Server(None, None, (200, {}, SUCCESS)) as server:
            result = Client(server.url).call("echo", {"a": 1})
        self.assertEqual((result.data, result.call_id, result.request_id), (1, "c1", "r1"))
        ids = {json.loads(body)["id"] for _, _, _, body in server.asked}
        self.assertEqual((len(server.asked), len(ids)), (3, 1))

    def test_it_gives_up(self):
        with Server() as server, self.assertRaises(hotcell.ConnectionFailed) as lost:
            Client(server.url, retries=1).call("echo", request_id="mine")
        self.assertEqual((len(server.asked), lost.exception.request_id, lost.exception.retryable), (2, "mine", True))

    def test_retry_after_is_waited_for(self):
        busy = {"type": "skill/call/resp", "id": "c0", "req_id": "r1", "error": {
            "code": "runtime_error", "message": "busy", "retryable": True, "detail": {"reason": "quota", "retry_after": 1}}}
        began = time.monotonic()
        with Server((429, {"Retry-After": "1"}, busy), (200, {}, SUCCESS)) as server:
            self.assertEqual(Client(server.url).call("echo").data, 1)
        self.assertGreaterEqual(time.monotonic() - began, 0.9)
        self.assertEqual(len(server.asked), 2)

    def test_a_long_retry_after_is_told(self):
        with Server((503, {"Retry-After": "3600"}, {"error": {"code": "busy", "message": "later"}})) as server:
            with self.assertRaises(hotcell.ApiError) as refused:
                Client(server.url).calls()
        self.assertEqual((refused.exception.retry_after, refused.exception.code, refused.exception.status), (3600, "busy", 503))

    def test_failures_are_not_tried_again(self):
        failed = {"type": "skill/call/resp", "id": "c1", "req_id": "r1", "data": {"success": False}, "error": {
            "code": "skill_error", "message": "no", "retryable": True, "detail": {"skill_code": "E"}}}
        with Server((502, {}, failed)) as server, self.assertRaises(hotcell.SkillFailed) as error:
            Client(server.url).call("echo")
        self.assertEqual((len(server.asked), error.exception.call_id, error.exception.detail, error.exception.status), (1, "c1", {"skill_code": "E"}, 502))
        self.assertTrue(error.exception.retryable)

    def test_every_code_has_a_class(self):
        for code, kind in {
            "unknown_skill": hotcell.UnknownSkill, "skill_error": hotcell.SkillFailed, "runtime_error": hotcell.RuntimeFailed,
            "parse_error": hotcell.InvalidRequest, "invalid_message": hotcell.InvalidRequest, "version_mismatch": hotcell.InvalidRequest,
            "schema_violation": hotcell.SchemaViolation, "timeout": hotcell.Timeout, "out_of_memory": hotcell.OutOfMemory,
            "sandbox_crash": hotcell.SandboxCrash, "unauthorized": hotcell.Unauthorized, "something_new": hotcell.CallError,
        }.items():
            with Server((400, {}, {"type": "skill/call/resp", "id": "", "error": {"code": code, "message": "m"}})) as server:
                with self.assertRaises(hotcell.CallError) as error:
                    Client(server.url).call("echo")
            self.assertIs(type(error.exception), kind)

    def test_nonsense_is_no_crash(self):
        for body in (b"", b"[]", b"\xff", b"{", b"null", b'{"data": 7}', b'{"data": {"success": 1}}'):
            with Server((200, {}, body)) as server, self.assertRaises(hotcell.HotcellError):
                Client(server.url).call("echo")
        for status, body in ((500, b"<html>"), (404, b"{}"), (403, b'{"error": "no"}')):
            with Server((status, {}, body)) as server, self.assertRaises(hotcell.ApiError) as error:
                Client(server.url).calls()
            self.assertEqual(error.exception.code, "http_%d" % status)

    def test_a_stream_that_breaks_off_says_so(self):
        event = {"type": "skill/event", "kind": "progress", "data": {"pct": 1}, "seq": 0, "ts": 1.5}
        with Server((200, {}, json.dumps(event).encode() + b"\n")) as server:
            with Client(server.url).stream("echo") as events:
                seen = []
                with self.assertRaises(hotcell.ConnectionFailed):
                    for one in events:
                        seen.append((one.kind, one.data, one.seq, one.ts))
        self.assertEqual(seen, [("progress", {"pct": 1}, 0, 1.5)])

    def test_time_is_bounded(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            began = time.monotonic()
            with self.assertRaises(hotcell.ConnectionFailed):
                Client("http://127.0.0.1:%d" % silent.getsockname()[1], timeout=0.2, retries=0).calls()
            self.assertLess(time.monotonic() - began, 20)

    def test_nobody_listens(self):
        for address in ("http://127.0.0.1:1", "/nowhere/hotcell.sock"):
            with self.assertRaises(hotcell.ConnectionFailed):
                Client(address, retries=0).call("echo")

    def test_loopback_has_no_proxy(self):
        before = dict(os.environ)
        try:
            os.environ.update(http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1", no_proxy="")
            with Server((200, {}, SUCCESS)) as server:
                for host in ("127.0.0.1", "localhost"):
                    server.answers[:] = [(200, {}, SUCCESS)]
                    self.assertEqual(Client(server.url.replace("127.0.0.1", host), retries=0).call("echo").data, 1)
            with Server((200, {}, SUCCESS)) as proxy:
                os.environ["http_proxy"] = proxy.url
                self.assertEqual(Client("http://hotcell.example/base", retries=0).call("echo").data, 1)
            self.assertEqual(proxy.asked[0][1], "http://hotcell.example/base/v1/calls")
        finally:
            os.environ.clear()
            os.environ.update(before)

    def test_a_token_travels_in_its_header_alone(self):
        with Server((200, {}, SUCCESS)) as server:
            client = Client(server.url, token="secret")
            client.call("echo")
        method, path, headers, body = server.asked[0]
        self.assertEqual(headers["Authorization"], "Bearer secret")
        self.assertNotIn("secret", path + body.decode() + repr(client))
        for token in ("", "a b", "a\r\nX: y", "ü"):
            with self.assertRaises(ValueError):
                Client(server.url, token=token)

    def test_names_of_artifacts_stay_in_their_folder(self):
        with tempfile.TemporaryDirectory() as folder, Server() as server:
            client = Client(server.url, retries=0)
            os.symlink("/tmp", os.path.join(folder, "link"))
            for name in ("", "..", "../x", "/etc/x", "a/../../x", "a//b", "a/./b", "a\\b", "a\0b", "link/x", "."):
                with self.assertRaises(ValueError, msg=repr(name)):
                    client.download("c1", name, folder)
            self.assertEqual((server.asked, os.listdir(folder)), ([], ["link"]))

    def test_a_download_is_whole_or_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            with Server((200, {"Content-Length": "10"}, b"short")) as server, self.assertRaises(hotcell.ConnectionFailed):
                Client(server.url, retries=0).download("c1", "a.txt", folder)
            self.assertEqual(os.listdir(folder), [])
            with Server((200, {"Content-Length": "10"}, b"short"), (200, {"Content-Length": "10"}, b"0123456789")) as server:
                path = Client(server.url).download("c1", "sub/a.txt", folder)
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), b"0123456789")
                with self.assertRaises(FileExistsError):
                    Client(server.url).download("c1", "sub/a.txt", folder)
                server.answers[:] = [(200, {}, b"new")]
                Client(server.url).download("c1", "sub/a.txt", folder, replace=True)
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), b"new")
            self.assertEqual(os.listdir(os.path.join(folder, "sub")), ["a.txt"])

    def test_ids_can_not_leave_their_place_in_an_address(self):
        with Server((200, {}, {"call": {}})) as server:
            client = Client(server.url, retries=0)
            client.show("a/../b?c#d")
            for bad in ("", ".", ".."):
                with self.assertRaises(ValueError):
                    client.show(bad)
        self.assertEqual(server.asked[0][1], "/v1/calls/a%2F..%2Fb%3Fc%23d")

    def test_addresses(self):
        for address in ("", "http://", "http://user:pw@host", "https://host/?q=1", "unix://"):
            with self.assertRaises(ValueError, msg=address):
                Client(address)

    def test_a_socket_has_no_journal(self):
        with self.assertRaises(NotImplementedError):
            Client("/nowhere").calls()


def daemon(address):
    return Client(address, os.environ["HOTCELL_TOKEN"])


class WithDaemon(unittest.TestCase):
    url = path = ""

    def doors(self):
        return [daemon(self.url), daemon(self.path), daemon("unix://" + self.path)]

    def test_discover(self):
        for client in self.doors():
            found = {skill["name"]: skill for skill in client.discover()}
            self.assertEqual(found["echo"]["input_schema"]["required"], ["text"])
            self.assertEqual(client.discover(tags=["no-such-tag"]), [])

    def test_call(self):
        for client in self.doors():
            result = client.call("echo", {"text": "ü"}, timeout=60, metadata={"k": 1}, correlation_id="c")
            self.assertEqual((result.data, result.summary, result.skill, result.truncated), ({"text": "ü"}, "echoed", "echo", False))
            self.assertTrue(result.call_id and result.request_id and result.duration_ms >= 0)

    def test_the_same_request_runs_once(self):
        for client in self.doors():
            first = client.call("echo", {"text": "once"}, request_id="same-" + str(id(client)))
            self.assertEqual(client.call("echo", {"text": "once"}, request_id=first.request_id).call_id, first.call_id)
            with self.assertRaises(hotcell.InvalidRequest) as other:
                client.call("echo", {"text": "other"}, request_id=first.request_id)
            self.assertEqual(other.exception.reason, "duplicate_id")

    def test_result_waits_past_events(self):
        for client in self.doors():
            with client.stream("talk") as events:
                self.assertEqual(events.result.data, "said")

    def test_a_stream_raises_at_its_end(self):
        for client in self.doors():
            with client.stream("exit") as events, self.assertRaises(hotcell.SkillFailed) as error:
                list(events)
            self.assertEqual((error.exception.reason, error.exception.detail["exit_code"]), ("exit", 3))

    def test_hanging_up_cancels(self):
        rest = daemon(self.url)
        for client in self.doors():
            with client.stream("nap") as events:
                next(iter(events))
            deadline = time.monotonic() + 60
            while not rest.show(events.request_id)[0].ended:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            self.assertEqual(rest.show(events.request_id)[0].state, "Canceled")
            with self.assertRaises(hotcell.Cancelled):
                rest.answer(events.request_id)

    def test_journal(self):
        client = daemon(self.url)
        result = client.call("talk")
        call, again = client.show(result.call_id)
        self.assertEqual((call.id, call.skill, call.state, call.ended, again.data), (result.call_id, "talk", "Succeeded", True, "said"))
        self.assertIn(result.call_id, [one.id for one in client.calls(limit=1000)])
        self.assertEqual([event.data["pct"] for event in client.events(result.call_id)], [10, 50, 90])
        self.assertEqual([event.data["pct"] for event in client.events(result.call_id, after=1)], [90])
        with self.assertRaises(hotcell.NotFound):
            client.show("no-such-call")
        with self.assertRaises(hotcell.ApiError) as ended:
            client.cancel(result.call_id)
        self.assertEqual(ended.exception.code, "ended")
        with self.assertRaises(hotcell.SkillFailed) as failed:
            client.call("fail")
        call, again = client.show(failed.exception.call_id)
        self.assertEqual((call.code, again), ("skill_error", None))

    def test_artifacts(self):
        client = daemon(self.url)
        result = client.call("files")
        self.assertEqual([(a.name, a.size, a.complete) for a in client.artifacts(result.call_id)], [("big.bin", 5 << 20, True), ("sub/ü.txt", 7, True)])
        self.assertEqual(client.read_artifact(result.call_id, "sub/ü.txt").decode(), "grüße")
        with self.assertRaises(ValueError):
            client.read_artifact(result.call_id, "big.bin", limit=100)
        with self.assertRaises(hotcell.NotFound), tempfile.TemporaryDirectory() as folder:
            client.download(result.call_id, "none.txt", folder)

    def test_input_files(self):
        result = daemon(self.url).call("inputs", files={"a/b.txt": b"one", "ü.bin": b"\0\xff"})
        self.assertEqual(result.data, {"a/b.txt": 3, "ü.bin": 2})
        with self.assertRaises(NotImplementedError):
            daemon(self.path).call("inputs", files={"a": b""})

    def test_reading_skills(self):
        client = daemon(self.url)
        self.assertIn("echo", [skill["name"] for skill in client.skills()])
        shown = client.skill("echo")
        self.assertEqual((shown["name"], shown["source"], shown["body"].strip()), ("echo", "project", "Run it."))
        self.assertIn(b"echoed", client.skill_file("echo", "main.py"))
        for slug, path in (("echo", "none"), ("none", "SKILL.md")):
            with self.assertRaises(hotcell.NotFound) as error:
                client.skill_file(slug, path)
            self.assertEqual(error.exception.code, "SKILL_FILE_NOT_FOUND")


if __name__ == "__main__":
    WithDaemon.url, WithDaemon.path = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
