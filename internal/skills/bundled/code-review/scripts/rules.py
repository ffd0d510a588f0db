"""The rules. Each has visit(node), which is called once for every node in the order of the text."""

import ast
import builtins

LONGEST_FUNCTION = 50
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Issues:
    """Collects what the rules find."""

    def __init__(self, code):
        self.lines = split_lines(code)
        self.found = []

    def count_lines(self):
        return max(1, len(self.lines) - (self.lines[-1] == ""))

    def line(self, number):
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def add(self, node, severity, rule, message):
        # The tree counts bytes; people count characters.
        before = self.line(node.lineno).encode("utf-8")[:node.col_offset]
        self.add_at(node.lineno, len(before.decode("utf-8", "replace")) + 1, severity, rule, message)

    def add_at(self, line, column, severity, rule, message):
        self.found.append(
            {"line": line, "column": column, "severity": severity, "rule": rule, "message": short(message, 300)})

    def sorted(self):
        return sorted(self.found, key=lambda i: (i["line"], i["column"], i["rule"], i["message"]))


def split_lines(code):
    """Lines as the parser counts them: str.splitlines also splits at form feeds and the like."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def short(text, most=60):
    return text if len(text) <= most else text[:most] + "..."


class BareExcept:
    def __init__(self, issues):
        self.issues = issues

    def visit(self, node):
        if isinstance(node.ast, ast.ExceptHandler) and node.ast.type is None:
            self.issues.add(node.ast, "warning", "bare-except",
                            "bare except also catches KeyboardInterrupt and SystemExit; name the exceptions")


class MutableDefault:
    LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    CALLS = {"list", "dict", "set", "bytearray", "defaultdict", "deque", "OrderedDict", "Counter"}

    def __init__(self, issues):
        self.issues = issues

    def visit(self, node):
        if not isinstance(node.ast, ast.arguments):
            return
        for default in node.ast.defaults + node.ast.kw_defaults:
            if isinstance(default, self.LITERALS) or self.makes_mutable(default):
                self.issues.add(default, "warning", "mutable-default",
                                "mutable default argument is shared by all calls; use None and make it inside")

    def makes_mutable(self, default):
        return isinstance(default, ast.Call) and name_of(default.func) in self.CALLS


class EvalExec:
    def __init__(self, issues):
        self.issues = issues

    def visit(self, node):
        if not isinstance(node.ast, ast.Call):
            return
        func = node.ast.func
        of_builtins = (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
                       and func.value.id in ("builtins", "__builtins__"))
        if (isinstance(func, ast.Name) or of_builtins) and name_of(func) in ("eval", "exec"):
            self.issues.add(node.ast, "error", "eval-exec",
                            "%s runs any code that its argument holds" % name_of(func))


class ShadowedBuiltin:
    # What site adds for the interactive prompt is not in the way of anybody.
    NAMES = ({n for n in dir(builtins) if not n.startswith("_")}
             - {"copyright", "credits", "exit", "help", "license", "quit"})

    def __init__(self, issues):
        self.issues = issues
        self.seen = set()

    def visit(self, node):
        if isinstance(node.ast, ast.arg):
            self.check(node, node.ast.arg, "argument")
        elif node.scope == "class":
            return  # an attribute shadows nothing
        elif isinstance(node.ast, ast.Name) and isinstance(node.ast.ctx, ast.Store):
            self.check(node, node.ast.id, "variable")
        elif isinstance(node.ast, DEFINITIONS):
            self.check(node, node.ast.name, "function")
        elif isinstance(node.ast, ast.ClassDef):
            self.check(node, node.ast.name, "class")
        elif isinstance(node.ast, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.ast.name:
            self.check(node, node.ast.name, "variable")
        elif isinstance(node.ast, (ast.Import, ast.ImportFrom)):
            for alias in node.ast.names:
                self.check(node, bound_name(alias), "import")

    def check(self, node, name, what):
        if name not in self.NAMES or (node.scope_id, name) in self.seen:
            return
        self.seen.add((node.scope_id, name))
        self.issues.add(node.ast, "info", "shadowed-builtin", "%s '%s' shadows the builtin" % (what, name))


class LongFunction:
    def __init__(self, issues):
        self.issues = issues

    def visit(self, node):
        if not isinstance(node.ast, DEFINITIONS):
            return
        lines = node.ast.end_lineno - node.ast.lineno + 1
        if lines > LONGEST_FUNCTION:
            self.issues.add(node.ast, "info", "long-function", "function '%s' has %d lines; the most is %d"
                            % (short(node.ast.name), lines, LONGEST_FUNCTION))


NODE_RULES = [BareExcept, MutableDefault, EvalExec, ShadowedBuiltin, LongFunction]


class UnusedImports:
    """Compares the names that imports bind with those that the code uses, once all of it has been seen."""

    def __init__(self, issues):
        self.issues = issues
        self.imports = []
        self.used = set()

    def visit(self, node):
        tree = node.ast
        if isinstance(tree, (ast.Import, ast.ImportFrom)):
            self.imported(node)
        elif isinstance(tree, ast.Name):
            if not isinstance(tree.ctx, ast.Store):
                self.used.add(tree.id)
        elif isinstance(tree, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            self.exported(tree)
        elif isinstance(tree, ast.Call) and name_of(tree.func) == "cast" and tree.args:
            self.quoted(tree.args[0])
        if isinstance(tree, (ast.arg, ast.AnnAssign)):
            self.quoted(tree.annotation)
        elif isinstance(tree, DEFINITIONS):
            self.quoted(tree.returns)

    def imported(self, node):
        tree = node.ast
        if isinstance(tree, ast.ImportFrom) and tree.module == "__future__" or guarded(node):
            return
        if "# noqa" in self.issues.line(tree.lineno):
            return
        for alias in tree.names:
            if alias.name != "*" and alias.asname != alias.name:  # import x as x is how a name is passed on
                self.imports.append((alias, bound_name(alias), whole_name(tree, alias)))

    def exported(self, tree):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets) and tree.value is not None:
            for part in ast.walk(tree.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    self.used.add(part.value)

    def quoted(self, annotation):
        """Names in "quoted" annotations."""
        if annotation is None:
            return
        for part in ast.walk(annotation):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 1000:
                try:
                    inner = ast.parse(part.value, mode="eval")
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
                self.used.update(n.id for n in ast.walk(inner) if isinstance(n, ast.Name))

    def finish(self):
        for alias, name, whole in self.imports:
            if name not in self.used:
                self.issues.add(alias, "warning", "unused-import", "'%s' is imported but not used" % short(whole))


def guarded(node):
    """Whether an import is a try for a module that may not be there."""
    while node.parent is not None:
        if isinstance(node.parent.ast, ast.ExceptHandler) and catches_import_error(node.parent.ast):
            return True
        node = node.parent
        if isinstance(node.ast, (ast.Try, ast.TryStar)) and any(map(catches_import_error, node.ast.handlers)):
            return True
        if isinstance(node.ast, DEFINITIONS + (ast.ClassDef, ast.Lambda)):
            return False
    return False


def catches_import_error(handler):
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(name_of(t) in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException") for t in types)


def name_of(expression):
    """The last part of a dotted name."""
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return ""


def bound_name(alias):
    return alias.asname or alias.name.split(".")[0]


def whole_name(tree, alias):
    if isinstance(tree, ast.ImportFrom):
        return "%s%s.%s" % ("." * tree.level, tree.module, alias.name) if tree.module else "." * tree.level + alias.name
    return alias.name
