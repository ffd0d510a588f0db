"""Profiles a CSV table.

The request is one JSON line on stdin. Events and the result are JSON lines on stdout.
"""

import io
import json
import os
import sys

from profile_table import TableError, profile
from report import markdown, summary


def emit(message):
    sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def event(kind, **data):
    emit({"type": "skill/event", "kind": kind, "data": data})


def fail(code, message):
    emit({"type": "skill/result", "success": False, "error": message, "error_code": code, "retryable": False})


class RequestError(Exception):
    """The arguments cannot be used."""


def open_table(arguments):
    """The table as a binary stream, and its size in bytes."""
    text, name = arguments.get("csv"), arguments.get("file")
    if text is not None and name is not None:
        raise RequestError("give either csv or file, not both")
    if text is not None:
        raw = text.encode("utf-8", "replace")
        return io.BytesIO(raw), len(raw)
    folder = os.path.realpath(os.environ.get("HOTCELL_INPUT", "/workspace/in"))
    if name is None:
        name = only_file(folder)
    path = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([folder, path]) != folder or not os.path.isfile(path):
        raise RequestError("there is no input file %r%s" % (name, listing(folder)))
    return open(path, "rb"), os.path.getsize(path)


def input_files(folder):
    """The names of the first input files; more than ten are not looked for."""
    names = []
    for base, _, files in os.walk(folder):
        names += [os.path.relpath(os.path.join(base, f), folder) for f in files]
        if len(names) > 10:
            break
    return sorted(names)


def only_file(folder):
    names = input_files(folder)
    if not names:
        raise RequestError("give the table as csv, or bring an input file; the call brought none")
    if len(names) > 1:
        raise RequestError("the call brought more than one input file; give the name of one as file" + listing(folder))
    return names[0]


def listing(folder):
    names = input_files(folder)
    return "; there are: " + ", ".join(names[:10]) if names else "; the call brought no input files"


def main():
    try:
        arguments = json.loads(sys.stdin.buffer.readline() or b"{}").get("arguments", {})
        stream, size = open_table(arguments)
    except (RequestError, ValueError, TypeError, AttributeError, OSError) as err:
        fail("bad_request", str(err))
        return
    event("log", level="info", message="profiling %d byte%s of CSV" % (size, "" if size == 1 else "s"))
    try:
        with stream:
            data = profile(stream, size, arguments.get("delimiter"), arguments.get("sample"),
                           lambda pct, message: event("progress", pct=pct, message=message))
    except TableError as err:
        fail("bad_table", str(err))
        return
    for problem in data["problems"]:
        event("log", level="warning", message="line %d: %s" % (problem["line"], problem["message"]))
    folder = os.environ.get("HOTCELL_OUT")
    if folder:
        with open(os.path.join(folder, "report.md"), "w", encoding="utf-8", errors="replace") as out:
            out.write(markdown(data))
    event("progress", pct=100, message="Done")
    emit({"type": "skill/result", "success": True, "data": data, "summary": summary(data)})


if __name__ == "__main__":
    main()
