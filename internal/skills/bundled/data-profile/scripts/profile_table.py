"""One pass over a table, with bounded memory."""

import codecs
import csv
import hashlib
import io

from column import Column

MAX_COLUMNS = 2000
MAX_CELL = 1 << 20  # characters of one cell
MAX_ROWS_COMPARED = 300_000  # whose digests are kept to find duplicates
MAX_PROBLEMS = 20
BUDGET = 200_000  # values kept over all columns


class TableError(Exception):
    """The table cannot be profiled at all."""


class Problems:
    """What is wrong with the data, without stopping at it."""

    def __init__(self):
        self.listed = []
        self.ragged = 0
        self.bad_bytes = 0

    def add(self, line, message):
        if len(self.listed) < MAX_PROBLEMS:
            self.listed.append({"line": line, "message": message})


class Lines:
    """The text lines of a binary stream. Bytes that cannot be decoded are replaced and reported."""

    def __init__(self, stream, problems):
        self.stream = stream
        self.problems = problems
        self.number = 0
        self.encoding = detect(stream)
        # UTF-16 has no bytes that could stand for themselves, so there errors are not counted.
        errors = "replace" if self.encoding == "utf-16" else "surrogateescape"
        self.text = io.TextIOWrapper(stream, encoding=self.encoding, errors=errors, newline="")

    def __iter__(self):
        while True:
            line = self.text.readline(MAX_CELL)
            if not line:
                return
            self.number += 1
            yield self.mend(line)

    def mend(self, line):
        if line.isascii():
            return line.replace("\0", "\ufffd")
        fixed = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in line).replace("\0", "\ufffd")
        if fixed != line and "\0" not in line:
            if self.problems.bad_bytes == 0:
                self.problems.add(self.number, "bytes that are not %s were replaced" % self.encoding)
            self.problems.bad_bytes += 1
        return fixed


def detect(stream):
    head = stream.read(4)
    stream.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


def profile(stream, size, delimiter, sample, progress):
    """Profiles the table. progress(pct, message) is called as bytes are read."""
    problems = Problems()
    progress(0, "Reading the header")
    lines = Lines(stream, problems)
    source = iter(lines)
    first = next(source, "")
    delimiter = delimiter or guess(first)
    rows = reader(first, source, delimiter)
    header = []
    while header == []:  # blank lines before it
        header = next_row(rows, lines, problems)
    header = header or []
    if len(header) > MAX_COLUMNS:
        raise TableError("%d columns are too many; the most is %d" % (len(header), MAX_COLUMNS))
    keep = max(20, min(10_000, BUDGET // max(1, len(header))))
    table = Table([Column(name, keep) for name in unique(header)], problems)
    sampled = read(table, rows, lines, sample, Meter(stream, size, progress))
    progress(92, "Summing up %d columns" % len(table.columns))
    return {
        "rows": table.rows,
        "columns": [c.result() for c in table.columns],
        "duplicates": table.duplicates,
        "duplicates_exact": not table.forgot,
        "ragged": problems.ragged,
        "sampled": sampled,
        "encoding": lines.encoding.removesuffix("-sig"),
        "delimiter": delimiter,
        "problems": problems.listed,
    }


def reader(first, source, delimiter):
    def chained():
        if first:
            yield first
        yield from source

    csv.field_size_limit(MAX_CELL)
    try:
        if delimiter in '"\r\n':
            raise ValueError("a quote or a line break cannot stand between cells")
        return csv.reader(chained(), delimiter=delimiter)
    except (TypeError, ValueError, csv.Error) as err:
        raise TableError("delimiter: %s" % err) from err


def next_row(rows, lines, problems):
    """The next row, or None at the end. What the reader cannot read ends the table."""
    try:
        return next(rows, None)
    except (csv.Error, UnicodeError) as err:
        problems.add(max(1, lines.number), "%s; nothing after this line was read" % err)
        return None


def read(table, rows, lines, sample, meter):
    while True:
        line = lines.number + 1
        row = next_row(rows, lines, table.problems)
        if row is None:
            return False
        if not row:
            continue
        if sample is not None and table.rows >= sample:
            return True
        table.add(row, line)
        meter.tick(table.rows)


class Table:
    def __init__(self, columns, problems):
        self.columns = columns
        self.problems = problems
        self.rows = 0
        self.duplicates = 0
        self.seen = set()
        self.forgot = False

    def add(self, row, line):
        self.rows += 1
        if len(row) != len(self.columns):
            self.problems.ragged += 1
            self.problems.add(line, "%d cells, but the header has %d" % (len(row), len(self.columns)))
        self.compare(row)
        for i, column in enumerate(self.columns):
            column.add(row[i] if i < len(row) else "")

    def compare(self, row):
        whole = "\x1f".join(row).encode("utf-8", "replace")
        key = int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "big")
        if key in self.seen:
            self.duplicates += 1
        elif len(self.seen) < MAX_ROWS_COMPARED:
            self.seen.add(key)
        else:
            self.forgot = True


class Meter:
    """Tells the progress by bytes read, about every twentieth of them."""

    def __init__(self, stream, size, progress):
        self.stream = stream
        self.size = max(1, size)
        self.progress = progress
        self.last = 5
        progress(5, "Reading rows")

    def tick(self, rows):
        if rows % 64:
            return
        pct = 5 + min(85, 85 * self.stream.tell() // self.size)
        if pct >= self.last + 4:
            self.last = pct
            self.progress(pct, "Read %d rows" % rows)


def guess(line):
    """The most frequent separator outside of quotes."""
    bare = "".join(line.split('"')[::2])
    return max([",", ";", "\t", "|"], key=bare.count)


def unique(header):
    names, seen = [], set()
    for i, name in enumerate(header):
        name = name.strip()[:200] or "column_%d" % (i + 1)
        base, n = name, 2
        while name in seen:
            name, n = "%s_%d" % (base, n), n + 1
        seen.add(name)
        names.append(name)
    return names
