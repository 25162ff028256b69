import { pythonSyntax } from './python-syntax.ts'

/**
 * Finds small programs that show what failing tests of Python saw: the failing statement, and what it needs of the test before it. `run` says what each
 * gives, in a process of its own.
 */
export const pythonScript = String.raw`${pythonSyntax}class Unknown(Exception):
    pass


class Program:
    def __init__(self, module, chain, frame):
        self.module, self.frame = module, frame
        self.chain = chain
        self.start = max(i for i, (b, at) in enumerate(chain) if isinstance(b[at], (ast.FunctionDef, ast.AsyncFunctionDef)))
        self.klass = next((b[at] for b, at in chain[: self.start] if isinstance(b[at], ast.ClassDef)), None)
        self.imports, self.early, self.main, self.inline = [], [], [], {}

    def earlier(self):
        for body, at in reversed(self.chain[self.start + 1 :]):
            yield from reversed(body[:at])

    def build(self, expr, extra=(), all_calls=False):
        needed = names_in(expr)
        have = set()
        for stmt in list(reversed(extra)) + list(self.earlier()):
            if is_assertion(stmt):
                # What it called may have changed something that is looked at later.
                calls = [e for e in watched(stmt) if isinstance(e, ast.Call)] if all_calls else []
                around = needed | {s.name for s in self.earlier() if isinstance(s, ast.FunctionDef) and names_in(s) & needed}
                if calls and names_in(calls[0]) & around & set(self.frame.f_locals):
                    self.main.insert(0, ast.Expr(calls[0]))
                    needed |= names_in(calls[0])
                continue
            if isinstance(stmt, ast.With) and any(isinstance(i.context_expr, ast.Call) and WRAPPERS.search(callee(i.context_expr)) for i in stmt.items):
                continue
            sets = stored_in(stmt)
            if isinstance(stmt, (ast.Assign, ast.AugAssign)):
                for n in ast.walk(stmt):
                    if isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, (ast.Store, ast.Del)):
                        sets |= names_in(n)
            changes = isinstance(stmt, (ast.Expr, ast.AugAssign, ast.For, ast.With)) and names_in(stmt) - {"self"}
            if not (sets & needed or (changes and changes & needed)):
                continue
            if isinstance(stmt, ast.Expr) and not isinstance(stmt.value, ast.Call):
                continue
            self.main.insert(0, stmt)
            needed |= names_in(stmt)
            have |= sets | {n.arg for n in ast.walk(stmt) if isinstance(n, ast.arg)}
        for name in sorted(needed - have):
            self.provide(name)
        return self.render(expr)

    def provide(self, name, depth=0):
        if name == "self":
            return
        local = self.frame.f_locals
        if name in local:
            text = literal(local[name])
            if text is None:
                text = self.fixture(name)
            if len(text) <= 60 and text == literal(local[name]):
                self.inline[name] = text
            else:
                self.early.append(ast.parse(f"{name} = {text}").body[0])
            return
        for stmt in self.module.tree.body:
            if name not in stored_in(stmt) or depth > 4:
                continue
            if isinstance(stmt, (ast.Import, ast.ImportFrom)):
                self.add_import(stmt, name)
                return
            if isinstance(stmt, (ast.Try, ast.If)):
                inner = [s for s in ast.walk(stmt) if isinstance(s, (ast.Import, ast.ImportFrom)) and name in stored_in(s)]
                if inner:
                    self.add_import(inner[0], name)
                    return
            if not isinstance(stmt, (ast.Assign, ast.FunctionDef, ast.ClassDef)) or (stmt.end_lineno - stmt.lineno) > 12:
                raise Unknown(name)
            if getattr(stmt, "decorator_list", None) or name.startswith("test"):
                raise Unknown(name)
            inside = stored_in(stmt) | {a.arg for n in ast.walk(stmt) if isinstance(n, ast.arguments) for a in n.args + n.kwonlyargs}
            for other in sorted(names_in(stmt) - inside - {name}):
                self.provide(other, depth + 1)
            if stmt not in self.early:
                self.early.append(stmt)
            return
        if not hasattr(builtins, name):
            raise Unknown(name)

    def fixture(self, name):
        """The expression that a simple fixture returns."""
        for node in self.module.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == name and isinstance(node.body[-1], ast.Return) and len(node.body) <= 2:
                value = node.body[-1].value
                if value is not None and not node.args.args:
                    for other in sorted(names_in(value)):
                        self.provide(other, 1)
                    return ast.unparse(value)
        raise Unknown(name)

    def add_import(self, stmt, name):
        one = [a for a in stmt.names if (a.asname or a.name).split(".")[0] == name]
        if isinstance(stmt, ast.ImportFrom):
            if stmt.level or is_foreign(stmt.module) or one[0].name.startswith("_"):
                raise Unknown(name)
            line = ast.ImportFrom(stmt.module, one, 0)
        else:
            if is_foreign(one[0].name):
                raise Unknown(name)
            line = ast.Import(one)
        text = ast.unparse(line)
        if text not in self.imports:
            self.imports.append(text)

    def render(self, expr):
        parts = self.early + self.main
        if any("self" in names_in(p) for p in parts + [expr]):
            raise Unknown("self")
        if not self.imports:
            raise Unknown("nothing of the package")
        put = Put(self.inline)
        lines = [ast.unparse(put.visit(ast.parse(ast.unparse(ast.fix_missing_locations(p))))) for p in parts]
        return {"imports": self.imports, "setup": lines, "expr": ast.unparse(put.visit(expr))}


class Put(ast.NodeTransformer):
    """Plain values in the place of the names that stand for them."""

    def __init__(self, texts):
        self.texts = texts

    def visit_Name(self, node):
        text = self.texts.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if text is None else ast.parse(text, mode="eval").body


def is_foreign(module):
    """Modules of the tests, and what is not meant for users."""
    parts = (module or "").split(".")
    return any(re.match(r"tests?$|test_|conftest|unittest|pytest|mock$", p) or (p.startswith("_") and p != "__future__") for p in parts)


class Self(ast.NodeTransformer):
    """self.x of a test class becomes x, where setUp or the class says what it is."""

    def __init__(self, program):
        self.program, self.seen = program, []

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            return node
        me = self.program.frame.f_locals.get("self")
        text = literal(getattr(me, node.attr, Unknown))
        if text is not None:
            return ast.parse(text, mode="eval").body
        return ast.Name(node.attr, node.ctx) if self.defined(node.attr) else node

    def defined(self, attr):
        for fn in self.program.klass.body if self.program.klass else []:
            if isinstance(fn, ast.FunctionDef) and fn.name in ("setUp", "setup_method", "setup"):
                for stmt in fn.body:
                    for t in getattr(stmt, "targets", []):
                        if isinstance(t, ast.Attribute) and t.attr == attr and ast.unparse(t) == "self." + attr:
                            self.seen.append((attr, stmt.value))
                            return True
        return False


def programs_of(tb):
    frames = []
    while tb is not None:
        if is_test_path(tb.tb_frame.f_code.co_filename):
            frames.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    for frame, line in reversed(frames):
        try:
            module = Module(frame.f_code.co_filename)
            chain = module.at(line)
            body, at = chain[-1]
            stmt, extra = body[at], []
            if isinstance(stmt, ast.With):
                if not any(isinstance(i.context_expr, ast.Call) and WRAPPERS.search(callee(i.context_expr)) for i in stmt.items):
                    continue
                stmt, extra = stmt.body[-1], stmt.body[:-1]
        except (OSError, SyntaxError, IndexError):
            continue
        for expr in watched(stmt):
            for all_calls in (False, True):
                try:
                    program = Program(module, chain, frame)
                    rename = Self(program)
                    shown = rename.visit(ast.parse(ast.unparse(expr), mode="eval").body)
                    made = [ast.Assign([ast.Name(attr, ast.Store())], value, lineno=0) for attr, value in rename.seen]
                    yield program.build(shown, made + extra, all_calls)
                except (Unknown, ValueError, RecursionError, AttributeError, TypeError):
                    continue


def collect(runner, out, ids):
    found = []

    def failed(tb):
        for program in programs_of(tb):
            if program not in found and len(found) < 16:
                found.append(program)

    if runner == "pytest":
        import pytest

        class Watch:
            @pytest.hookimpl(tryfirst=True)
            def pytest_runtest_makereport(self, item, call):
                if call.excinfo is not None and call.when == "call":
                    failed(call.excinfo.tb)

        quiet = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "ignore::pytest.PytestConfigWarning"]
        pytest.main([*quiet, *ids], plugins=[Watch()])
    else:
        import unittest

        class Result(unittest.TextTestResult):
            def addFailure(self, test, err):
                failed(err[2])

            addError = addFailure

        sys.path.insert(0, os.getcwd())
        suite = unittest.defaultTestLoader.loadTestsFromNames(ids)
        unittest.TextTestRunner(resultclass=Result).run(suite)
    json.dump(found, open(out, "w"))


def outcome(program, answer):
    """Runs in a process of its own, so that no program sees what another left."""
    signal.alarm(15)
    try:
        exec(compile("\n".join(program["imports"] + program["setup"]), "example.py", "exec"), (space := {"__name__": "__main__"}))
        value = eval(program["expr"], space)
        listed = hasattr(value, "__next__")
        value = list(itertools.islice(value, 100)) if listed else value
        text = repr(value)
        told = {"kind": "value", "text": text, "type": type(value).__name__, "plain": str(value) == text, "listed": listed}
    except Exception as error:
        told = {"kind": "error", "text": f"{type(error).__name__}: {error}", "type": type(error).__name__, "plain": True, "listed": False}
    with open(answer, "w") as file:
        json.dump(told, file)


def run(programs, out):
    answers = []
    for program in programs:
        answer = out + ".answer"
        if os.path.exists(answer):
            os.remove(answer)
        child = os.fork()
        if child == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            try:
                outcome(program, answer)
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            answers.append({"kind": "endless", "text": "", "type": "", "plain": True, "listed": False})
            continue
        try:
            with open(answer) as file:
                answers.append(json.load(file))
        except (OSError, ValueError):
            answers.append(None)
    with open(out, "w") as file:
        json.dump(answers, file)


if sys.argv[1] == "collect":
    collect(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    sys.path.insert(0, os.getcwd())
    run(json.load(open(sys.argv[2])), sys.argv[3])
`
