/** The first part of the program in `python-script.ts`: what it reads in the syntax of tests. */
export const pythonSyntax = String.raw`# collect RUNNER OUT IDS...: programs that show what failing tests saw.  run PROGRAMS OUT: what each of them gives.
import ast, builtins, itertools, json, os, re, signal, sys

WRAPPERS = re.compile(r"assert|raises|warns|^eq_$|^ok_$|subTest")


def is_test_path(path):
    path = os.path.relpath(path, os.getcwd())
    if path.startswith(".."):
        return False
    return bool(re.search(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|tests)\.py$", path))


def names_in(node, kind=ast.Load):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def stored_in(node):
    found = names_in(node, ast.Store)
    for n in ast.walk(node):
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).split(".")[0] for a in n.names}
    return found


def literal(value):
    try:
        text = repr(value)
        if len(text) <= 300 and type(ast.literal_eval(text)) is type(value) and ast.literal_eval(text) == value:
            return text
    except Exception:
        pass
    return None


def is_plain(node):
    return not any(isinstance(n, (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.BinOp)) for n in ast.walk(node))


def callee(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def watched(stmt):
    """Expressions of a statement whose value tells what went wrong, the best first."""
    if isinstance(stmt, ast.Assert):
        return of_condition(stmt.test)
    if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.Return)) and stmt.value is not None:
        return [stmt.value]
    if isinstance(stmt, ast.For):
        return [stmt.iter]
    if not isinstance(stmt, ast.Expr):
        return []
    value = stmt.value
    if not isinstance(value, ast.Call) or not WRAPPERS.search(callee(value)):
        return [value]
    if "aises" in callee(value) or "warns" in callee(value).lower():
        return [ast.Call(value.args[1], value.args[2:], value.keywords)] if len(value.args) > 1 else []
    args = [a for a in value.args if not is_plain(a)]
    return [e for a in sorted(args, key=no_call) for e in of_condition(a)]


def is_assertion(stmt):
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        return bool(WRAPPERS.search(callee(stmt.value)))
    return isinstance(stmt, ast.Assert)


def no_call(node):
    return not any(isinstance(n, ast.Call) for n in ast.walk(node))


def of_condition(test):
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return of_condition(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [s for s in (test.left, test.comparators[0]) if not is_plain(s)]
        return sorted(sides, key=no_call) + [test]
    if isinstance(test, ast.Call) and callee(test) == "isinstance" and test.args:
        return [test.args[0], test]
    return [test]


class Module:
    def __init__(self, path):
        self.tree = ast.parse(open(path, encoding="utf-8").read())
        self.path = path

    def at(self, line):
        """The blocks around a line, each with the position in it, from the outside in."""
        chain, body = [], self.tree.body
        while True:
            for i, stmt in enumerate(body):
                if stmt.lineno <= line <= (stmt.end_lineno or stmt.lineno):
                    chain.append((body, i))
                    inner = [getattr(stmt, f, []) for f in ("body", "orelse", "finalbody")]
                    inner += [h.body for h in getattr(stmt, "handlers", [])]
                    body = next((b for b in inner if isinstance(b, list) and b and b[0].lineno <= line <= (b[-1].end_lineno or 0)), None)
                    break
            else:
                return chain
            if body is None:
                return chain


`
