"""The profile as text for people."""


def plural(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


def summary(data):
    if not data["columns"]:
        return "The table is empty"
    text = "%s, %s" % (plural(len(data["columns"]), "column"), plural(data["rows"], "row"))
    if data["duplicates"]:
        text += ", " + plural(data["duplicates"], "duplicate row")
    if data["ragged"]:
        text += ", " + plural(data["ragged"], "ragged row")
    return text


def markdown(data):
    out = ["# Data profile", "", summary(data) + ".", ""]
    if data["columns"]:
        out += ["| column | type | count | nulls | distinct | min | max | mean | p25 | p50 | p75 |",
                "|---|---|---:|---:|---:|---|---|---:|---:|---:|---:|"]
    for column in data["columns"]:
        out.append("| " + " | ".join(
            cell(column.get(key, ""))
            for key in ("name", "type", "count", "nulls", "distinct", "min", "max", "mean", "p25", "p50", "p75")) + " |")
    for column in data["columns"]:
        if column.get("top"):
            out += ["", "## " + cell(column["name"]), "", "| value | count |", "|---|---:|"]
            out += ["| %s | %d |" % (cell(top["value"]), top["count"]) for top in column["top"]]
    if data["problems"]:
        out += ["", "## Problems", ""]
        out += ["- line %d: %s" % (problem["line"], cell(problem["message"])) for problem in data["problems"]]
    return "\n".join(out) + "\n"


def cell(value):
    if isinstance(value, float):
        return "%.6g" % value
    text = " ".join(str(value).split())
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
