import sys

print("Traceback (most recent call last):\n  KeyError: 'sales'", file=sys.stderr)
sys.exit(3)
