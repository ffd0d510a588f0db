"""What is known of one column."""

import hashlib
import random
import re
from array import array
from datetime import datetime

NULLS = {"", "na", "n/a", "nan", "null", "none"}
BOOLEANS = {"true", "false", "yes", "no"}
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})", re.ASCII)
NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})?\.[0-9]{1,40}([eE][+-]?[0-9]{1,2})?|[+-]?[0-9]{1,18}[eE][+-]?[0-9]{1,2}",
                    re.ASCII)
DATE_FORMATS = ("%d.%m.%Y", "%m/%d/%Y")
TOP = 5
LONGEST_VALUE = 100  # characters of a value that are kept


def parse_date(text):
    """The date as ISO 8601, or None."""
    if not 8 <= len(text) <= 35 or not text[0].isdigit():
        return None
    if text[4:5] == "-":
        try:
            return datetime.fromisoformat(text).isoformat() if len(text) > 10 else datetime.fromisoformat(text).date().isoformat()
        except ValueError:
            return None
    for form in DATE_FORMATS:
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    return None


class Column:
    """Counts values and keeps at most so many of them."""

    def __init__(self, name, keep):
        self.name = name
        self.keep = keep
        self.count = self.nulls = 0
        self.kinds = {"integer", "number", "boolean", "date"}  # those that all values fit so far
        self.values = {}  # how often each was seen
        self.overflow = 0  # values that came when there was no room any more
        self.low = self.high = None
        self.total = 0.0
        self.numbers = array("d")  # a uniform sample of the numbers
        self.random = random.Random(0)
        self.first_date = self.last_date = None

    def add(self, cell):
        text = cell.strip()
        if text.lower() in NULLS:
            self.nulls += 1
            return
        self.count += 1
        self.tally(text)
        if self.kinds:
            self.narrow(text)

    def tally(self, text):
        key = text
        if len(text) > LONGEST_VALUE:
            digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
            key = "%s... (%s)" % (text[:LONGEST_VALUE - 20], digest)
        if key in self.values:
            self.values[key] += 1
        elif len(self.values) < self.keep:
            self.values[key] = 1
        else:
            self.overflow += 1

    def narrow(self, text):
        """Drops the types that the value does not fit, and counts it as what it still may be."""
        whole = INTEGER.fullmatch(text) is not None
        if not whole:
            self.kinds.discard("integer")
        if "number" in self.kinds:
            if whole or NUMBER.fullmatch(text):
                self.number(int(text) if whole else float(text))
            else:
                self.kinds.discard("number")
        if "boolean" in self.kinds and text.lower() not in BOOLEANS:
            self.kinds.discard("boolean")
        if "date" in self.kinds:
            date = parse_date(text)
            if date is None:
                self.kinds.discard("date")
            else:
                self.first_date = min(self.first_date or date, date)
                self.last_date = max(self.last_date or date, date)

    def number(self, value):
        self.low = value if self.low is None else min(self.low, value)
        self.high = value if self.high is None else max(self.high, value)
        self.total += value
        if len(self.numbers) < self.keep:
            self.numbers.append(value)
            return
        at = self.random.randrange(self.count)
        if at < self.keep:
            self.numbers[at] = value

    def type(self):
        if self.count:
            for kind in ("boolean", "integer", "number", "date"):
                if kind in self.kinds:
                    return kind
        return "string"

    def result(self):
        kind = self.type()
        out = {"name": self.name, "type": kind, "count": self.count, "nulls": self.nulls, "distinct": len(self.values)}
        approximate = self.overflow > 0
        if kind in ("integer", "number"):
            approximate = approximate or self.count > len(self.numbers)
            numbers = sorted(self.numbers)
            out.update(min=self.low, max=self.high, mean=self.total / self.count)
            out.update((name, quantile(numbers, q)) for name, q in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75)))
        elif kind == "date":
            out.update(min=self.first_date, max=self.last_date)
        else:
            top = sorted(self.values.items(), key=lambda item: (-item[1], item[0]))[:TOP]
            out["top"] = [{"value": value, "count": count} for value, count in top]
        if approximate:
            out["approximate"] = True
        return out


def quantile(ordered, q):
    """Interpolates linearly between the two nearest values."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
