import { pythonSyntax } from './python-syntax.ts'

/**
 * Finds small programs that show what failing Python tests saw: the failing statement, and what it needs from the test
 * before it. `run` prints each one's result, using a process per program.
 */
export const pythonScript = String.raw`${pythonSyntax}class Program:
    def __init__(self, module, chain, frame):
        self.module, self.frame = module, frame
        self.chain = chain
        self.start = max(i for i, (b, at) in enumerate(chain) if isinstance(b[at], (ast.FunctionDef, ast.AsyncFunctionDef)))
        self.klass = next((b[at] for b, at in chain[: self.start] if isinstance(b[at], ast.ClassDef)), None)
        self.imports, self.early, self.main, self.inline, self.given = [], [], [], {}, {}
        self.rename = Self(self)

    def renamed(self, node):
        return self.rename.visit(copy.deepcopy(node))

    def name_of(self, value):
        """A name for a class or function that a test reaches through self."""
        found = exported(value)
        if found is not None:
            self.given[found[1]] = found
            return found[1]
        own = getattr(value, "__name__", None)
        return own if isinstance(value, OPEN) and own and self.frame.f_globals.get(own) is value else None

    def earlier(self):
        for body, at in reversed(self.chain[self.start + 1 :]):
            yield from map(self.renamed, reversed(body[:at]))
        # Whatever setUp made was there before the first statement.
        for attr, value in self.rename.seen:
            yield ast.Assign([ast.Name(attr, ast.Store())], self.renamed(value), lineno=0)

    def build(self, expr, extra=(), all_calls=False):
        expr = self.renamed(expr)
        needed = names_in(expr)
        have = set()
        for stmt in itertools.chain(map(self.renamed, reversed(extra)), self.earlier()):
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
        try:
            if name not in self.given:
                return self.provide_from_test(name, depth)
        except Unknown:
            found = exported(self.frame.f_globals.get(name))
            if found is None:
                raise
            self.given[name] = found
        place, real = self.given[name]
        text = f"from {place} import {real}" + ("" if real == name else f" as {name}")
        if text not in self.imports and place != "builtins":
            self.imports.append(text)

    def provide_from_test(self, name, depth):
        local = self.frame.f_locals
        if name in local:
            text = literal(local[name])
            if text is None:
                text = self.fixture(name)
            # What can change needs a name.
            if len(text) <= 60 and text == literal(local[name]) and not isinstance(local[name], (list, dict, set)):
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
                    yield Program(module, chain, frame).build(ast.parse(ast.unparse(expr), mode="eval").body, extra, all_calls)
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
            # Around the others: of a unittest class the error is known only after pytest's own hook.
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(self, item, call):
                yield
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
        told = {"kind": "error", "text": f"{type(error).__name__}: {error}".removesuffix(": "), "type": type(error).__name__, "plain": True, "listed": False}
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
