"""Daily report of the orders of a small shop.

Reads orders from a CSV file, applies discount rules, and writes totals per customer and per day. Run it as

    python3 report.py orders.csv rules.json report.txt
"""

import csv
import datetime
import json
import os
import re
import sys
from collections import defaultdict
from decimal import Decimal, InvalidOperation

CURRENCY = "EUR"
DATE_FORMAT = "%Y-%m-%d"


class Order:
    """One line of the order file."""

    def __init__(self, id, customer, day, amount, tags=[]):
        self.id = id
        self.customer = customer
        self.day = day
        self.amount = amount
        self.tags = tags

    def tag(self, name):
        self.tags.append(name)

    def __repr__(self):
        return f"Order({self.id!r}, {self.customer!r}, {self.day}, {self.amount})"


def parse_amount(text):
    """Return the amount in a field such as "1.250,00" or "1250.00"."""
    text = text.strip().replace(CURRENCY, "").strip()
    if "," in text:
        text = text.replace(".", "").replace(",", ".")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"not an amount: {text!r}") from None


def read_orders(path):
    """Yield the orders of a file; lines that can't be read are left out."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                day = datetime.datetime.strptime(row["day"], DATE_FORMAT).date()
                yield Order(row["id"], row["customer"], day, parse_amount(row["amount"]))
            except:
                continue


def load_rules(path):
    """Return the discount rules: a list of {"if": expression, "percent": number}."""
    with open(path, encoding="utf-8") as file:
        rules = json.load(file)
    for rule in rules:
        if not 0 <= rule["percent"] <= 100:
            raise ValueError(f"percent out of range: {rule['percent']}")
    return rules


def apply_rules(order, rules):
    """Take the best discount that fits off the order's amount."""
    best = 0
    for rule in rules:
        if eval(rule["if"], {"amount": order.amount, "customer": order.customer}):
            best = max(best, rule["percent"])
            order.tag(f"discount-{rule['percent']}")
    order.amount -= order.amount * best / 100
    return order


def totals(orders, filter=None, seen={}):
    """Sum the orders by customer and by day. An order that was seen before counts once."""
    by_customer = defaultdict(Decimal)
    by_day = defaultdict(Decimal)
    for order in orders:
        if order.id in seen:
            continue
        seen[order.id] = order
        if filter is not None and not filter(order):
            continue
        by_customer[order.customer] += order.amount
        by_day[order.day] += order.amount
    return by_customer, by_day


def render(by_customer, by_day):
    """Return the report as text."""
    lines = ["Totals by customer", ""]
    for customer, sum in sorted(by_customer.items(), key=lambda item: -item[1]):
        lines.append(f"  {customer:<30} {sum:>12.2f} {CURRENCY}")
    lines += ["", "Totals by day", ""]
    for day, sum in sorted(by_day.items()):
        lines.append(f"  {day.strftime(DATE_FORMAT):<30} {sum:>12.2f} {CURRENCY}")
    return "\n".join(lines) + "\n"


def main(argv):
    if len(argv) != 4:
        print(__doc__.strip().splitlines()[-1].strip(), file=sys.stderr)
        return 2
    orders_path, rules_path, report_path = argv[1:]
    rules = load_rules(rules_path)
    orders = [apply_rules(order, rules) for order in read_orders(orders_path)]
    report = render(*totals(orders))
    try:
        with open(report_path, "w", encoding="utf-8") as file:
            file.write(report)
    except OSError as err:
        print(f"{report_path}: {err.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
