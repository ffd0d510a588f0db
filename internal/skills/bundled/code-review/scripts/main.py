"""Reviews one Python file without running it.

The request is one JSON line on stdin. Events and the result are JSON lines on stdout.
"""

import json
import os
import sys

from review import TooDeep, review

MAX_ISSUES = 5000


def emit(message):
    # ASCII only: a lone surrogate in the code must not break the line.
    sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def event(kind, **data):
    emit({"type": "skill/event", "kind": kind, "data": data})


def fail(code, message):
    emit({"type": "skill/result", "success": False, "error": message, "error_code": code, "retryable": False})


def read_code():
    request = json.loads(sys.stdin.buffer.readline() or b"{}")
    code = request.get("arguments", {}).get("code")
    if not isinstance(code, str):
        raise ValueError("arguments.code must be a string: the text of a Python file")
    return code


def write_report(issues, omitted):
    folder = os.environ.get("HOTCELL_OUT")
    if not folder:
        return
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8", errors="replace") as out:
        out.write("# Code review\n\n%s.\n" % summary(len(issues) + omitted))
        if issues:
            out.write("\n| line | column | severity | rule | message |\n|---:|---:|---|---|---|\n")
        for issue in issues:
            message = issue["message"].replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
            out.write("| %d | %d | %s | %s | %s |\n"
                      % (issue["line"], issue["column"], issue["severity"], issue["rule"], message))
        if omitted:
            out.write("\n%d more are not listed.\n" % omitted)


def summary(count):
    if count == 0:
        return "No issues found"
    return "1 issue found" if count == 1 else "%d issues found" % count


def main():
    try:
        code = read_code()
    except (ValueError, AttributeError) as err:
        fail("bad_request", str(err))
        return
    event("log", level="info", message="reviewing %d character%s of Python" % (len(code), "" if len(code) == 1 else "s"))
    try:
        issues = review(code, lambda pct, message: event("progress", pct=pct, message=message))
    except TooDeep as err:
        fail("too_deep", str(err))
        return
    omitted = max(0, len(issues) - MAX_ISSUES)
    issues = issues[:MAX_ISSUES]
    write_report(issues, omitted)
    event("progress", pct=100, message="Done")
    data = {"issues": issues}
    if omitted:
        data["omitted"] = omitted
    emit({"type": "skill/result", "success": True, "data": data, "summary": summary(len(issues) + omitted)})


if __name__ == "__main__":
    main()
