"""The review: one parse, one walk, then rules over the nodes."""

import ast
import gc
import warnings

from rules import NODE_RULES, Issues, UnusedImports

STEP = 5  # per cent of the lines between two progress events


class TooDeep(Exception):
    """The code is nested deeper than the parser can follow."""


class Node:
    """A syntax node with what surrounds it."""

    __slots__ = ("ast", "parent", "scope", "scope_id")

    def __init__(self, node, parent, scope, scope_id):
        self.ast = node
        self.parent = parent  # a Node or None
        self.scope = scope  # module, class or function: where names that it binds go
        self.scope_id = scope_id


def review(code, progress):
    """Returns the issues, sorted. progress(pct, message) is called after each piece of work."""
    code = clean(code)
    issues = Issues(code)
    progress(0, "Parsing")
    tree = parse(code, issues)
    if tree is None:
        progress(90, "The code does not parse")
        return issues.sorted()
    progress(20, "Analyzing code structure")
    imports = UnusedImports(issues)
    check(tree, [rule(issues) for rule in NODE_RULES] + [imports], issues.count_lines(), progress)
    imports.finish()
    progress(92, "Writing the report")
    return issues.sorted()


def check(tree, rules, lines, progress):
    """Shows every node to every rule, and tells how many of the lines are done."""
    last = 0
    for node in walk(tree):
        for rule in rules:
            rule.visit(node)
        done = 100 * (getattr(node.ast, "lineno", 1) - 1) // lines
        if done >= last + STEP:
            last = done
            progress(20 + 70 * done // 100, "Checked %d of %d lines" % (node.ast.lineno - 1, lines))
    progress(90, "Checked %d line%s" % (lines, "" if lines == 1 else "s"))


def clean(code):
    """Drops a byte order mark and what cannot be encoded."""
    return code.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff")


def parse(code, issues):
    gc.disable()  # a syntax tree has no cycles, only very many objects
    warnings.simplefilter("ignore")  # of the reviewed code, such as its invalid escapes
    try:
        return ast.parse(code)
    except SyntaxError as err:
        line = min(max(err.lineno or 1, 1), issues.count_lines())
        issues.add_at(line, max(err.offset or 1, 1), "error", "syntax-error", err.msg or "invalid syntax")
    except ValueError as err:  # a NUL in the text
        issues.add_at(1, 1, "error", "syntax-error", str(err))
    except (RecursionError, MemoryError) as err:
        raise TooDeep("the code is nested too deep to be parsed; split the deepest expression and try again") from err
    return None


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def walk(tree):
    """All nodes in the order of the text, without recursion: the nesting is the code's choice."""
    stack = [Node(tree, None, "module", 0)]
    scopes = 0
    while stack:
        node = stack.pop()
        yield node
        scope, scope_id = node.scope, node.scope_id
        if isinstance(node.ast, FUNCTIONS + COMPREHENSIONS):
            scopes += 1
            scope, scope_id = "function", scopes
        elif isinstance(node.ast, ast.ClassDef):
            scopes += 1
            scope, scope_id = "class", scopes
        children = [Node(child, node, scope, scope_id) for child in ast.iter_child_nodes(node.ast)]
        stack.extend(reversed(children))
