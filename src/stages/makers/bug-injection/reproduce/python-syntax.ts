/** The first part of the program in `python-script.ts`: its analysis of test syntax. */
export const pythonSyntax = String.raw`# collect RUNNER OUT IDS...: programs that show what failing tests saw.  run PROGRAMS OUT: what each of them gives.
import ast, builtins, copy, itertools, json, os, re, signal, sys, types

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


def is_foreign(module):
    """Modules of the tests, and what is not meant for users."""
    parts = (module or "").split(".")
    return any(re.match(r"tests?$|test_|conftest|unittest|pytest|mock$", p) or (p.startswith("_") and p != "__future__") for p in parts)


OPEN = (type, types.FunctionType)


def exported(value):
    """How users import a class or a function: from the outermost module that has it, and its name."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if not isinstance(value, OPEN) or not isinstance(module, str) or not name or name.startswith("_"):
        return None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        place = ".".join(parts[:count])
        if not is_foreign(place) and getattr(sys.modules.get(place), name, None) is value:
            return place, name
    return None


def is_of_self(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


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


class Unknown(Exception):
    pass


class Put(ast.NodeTransformer):
    """Plain values in the place of the names that stand for them."""

    def __init__(self, texts):
        self.texts = texts

    def visit_Name(self, node):
        text = self.texts.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if text is None else ast.parse(text, mode="eval").body


class Self(ast.NodeTransformer):
    """self.x of a test class becomes x, where the test, setUp or the class says what it is."""

    def __init__(self, program):
        self.program, self.seen = program, []
        body, at = program.chain[program.start]
        self.own = {n.attr for n in ast.walk(body[at]) if is_of_self(n) and not isinstance(n.ctx, ast.Load)}

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not is_of_self(node):
            return node
        free = node.attr if node.attr not in self.program.frame.f_locals else "my_" + node.attr
        if node.attr in self.own:
            return ast.Name(free, node.ctx)
        value = getattr(self.program.frame.f_locals.get("self"), node.attr, Unknown)
        text = literal(value)
        if text is not None:
            return ast.parse(text, mode="eval").body
        name = self.program.name_of(value)
        if name is not None:
            return ast.Name(name, node.ctx)
        return ast.Name(free, node.ctx) if self.defined(node.attr, free) else node

    def defined(self, attr, free):
        for fn in self.program.klass.body if self.program.klass else []:
            if isinstance(fn, ast.FunctionDef) and fn.name in ("setUp", "setup_method", "setup"):
                for stmt in fn.body:
                    for t in getattr(stmt, "targets", []):
                        if isinstance(t, ast.Attribute) and t.attr == attr and ast.unparse(t) == "self." + attr:
                            if free not in [name for name, _ in self.seen]:
                                self.seen.append((free, stmt.value))
                            return True
        return False


`
