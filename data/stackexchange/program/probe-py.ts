/**
 * Finds a function in an answer that can be called, and calls it on inputs generated from the calls in the posts or
 * from its parameters. Prints JSON: the function, its signature and the calls with their results, or a problem.
 */
export const probePy = String.raw`
import ast, builtins, copy, io, json, os, random, re, select, signal, sys, time, contextlib

posts = json.load(open("posts.json"))
banned = {"os", "subprocess", "socket", "random", "time", "datetime", "threading", "multiprocessing", "uuid", "secrets",
          "shutil", "tempfile", "pathlib", "urllib", "http", "ctypes", "asyncio", "tkinter", "signal", "sys", "logging"}
rng = random.Random(int(sys.argv[1]))
# Seconds for what other answers give, all together.
budget = float(sys.argv[2]) if len(sys.argv) > 2 else 40

class Slow(Exception):
    pass

def ring(*_):
    raise Slow()

signal.signal(signal.SIGALRM, ring)

def definitions(code):
    """The code without what it does at its top level; None when it is not Python that stands alone."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kept = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or "."]
            roots = {name.split(".")[0] for name in names}
            if roots & banned or not roots <= set(sys.stdlib_module_names):
                return None
            kept.append(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            kept.append(node)
        elif isinstance(node, ast.Assign) and not any(isinstance(n, ast.Call) for n in ast.walk(node)):
            kept.append(node)
    used = {n.id for n in ast.walk(ast.Module(kept, [])) if isinstance(n, ast.Name)}
    if used & {"input", "open", "print", "exec", "eval", "id", "hash", "globals", "__import__"}:
        return None
    if used - known(ast.Module(kept, [])):
        return None
    return ast.unparse(ast.Module(kept, [])) if any(isinstance(n, ast.FunctionDef) for n in kept) else None

def known(tree):
    """Names that something in the code gives a meaning."""
    names = set(dir(builtins)) | {"__name__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names

def functions(code):
    return [n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef) and 1 <= len(n.args.args) <= 3
            and not (n.args.vararg or n.args.kwarg or n.args.kwonlyargs or n.decorator_list)]

def literal_calls(name, texts):
    """Calls with plain values in code, wherever it can be read."""
    found = []
    for text in texts:
        for piece in [text] + text.splitlines():
            try:
                tree = ast.parse(re.sub(r"^\s*(>>>|In \[\d+\]:)\s?", "", piece))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name and not node.keywords:
                    try:
                        found.append(tuple(ast.literal_eval(arg) for arg in node.args))
                    except (ValueError, TypeError):
                        pass
    return found

words = "amber birch canyon delta ember fig grove harbor iris jade kite lemon maple north".split()
hints = [("int", {"n", "k", "m", "num", "number", "x", "count", "size", "limit", "year"}),
         ("text", {"s", "text", "string", "word", "line", "sentence", "str1", "str2", "s1", "s2", "phrase"}),
         ("words", {"words", "strings", "names", "lines"}),
         ("ints", {"nums", "numbers", "arr", "lst", "array", "values", "ints", "data"})]
annotations = {"int": "int", "str": "text", "list[str]": "words", "List[str]": "words", "list[int]": "ints", "List[int]": "ints"}

def kinds_of(function):
    kinds = []
    for arg in function.args.args:
        note = ast.unparse(arg.annotation) if arg.annotation else ""
        kind = annotations.get(note) or next((kind for kind, names in hints if not note and arg.arg in names), None)
        if kind is None:
            return None
        kinds.append(kind)
    return kinds

def fresh(kind):
    if kind == "int":
        return rng.choice([rng.randint(1, 12), rng.randint(1, 12), rng.randint(13, 200)])
    if kind == "text":
        text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 4)))
        return text.title() if rng.random() < 0.3 else text
    if kind == "words":
        return [rng.choice(words) for _ in range(rng.randint(2, 7))]
    return [rng.randint(-5, 20) for _ in range(rng.randint(2, 8))]

def vary(value, depth=0):
    """Another value of the same shape."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return rng.randint(0, max(9, 2 * abs(value))) * (-1 if value < 0 else 1)
    if isinstance(value, float):
        return round(rng.uniform(0, max(2.0, 2 * abs(value))), 2)
    if isinstance(value, str):
        if not value:
            return rng.choice(["", rng.choice(words)])
        if re.fullmatch(r"[A-Za-z]+( [A-Za-z]+)*", value) and len(set(value)) > 3:
            return " ".join(rng.choice(words) for _ in range(value.count(" ") + 1 + rng.randint(0, 1)))
        return "".join(rng.choice(value) for _ in range(rng.randint(1, len(value) + 2)))
    if isinstance(value, (list, tuple)):
        if not value:
            return copy.deepcopy(value)
        if isinstance(value, tuple):
            return tuple(vary(item, depth + 1) for item in value)
        return [vary(rng.choice(value), depth + 1) for _ in range(rng.randint(1, min(12, len(value) + 2)))]
    if isinstance(value, dict):
        return {key: vary(item, depth + 1) for key, item in value.items()}
    return value

def call(function, args, seconds=2):
    """What a call gives, as text that can be read back; None when it fails or gives something else."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            given = function(*copy.deepcopy(args))
        text = repr(given)
        if given is None or len(text) > 5000 or ast.literal_eval(text) != given:
            return None
        return text
    except Slow:
        return None
    except BaseException:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def load(code, name):
    space = {"__name__": "answer"}
    try:
        exec(compile(code, "answer", "exec"), space)
    except BaseException:
        return None
    return space.get(name)

def probe(code, asked, texts):
    problem = "no function whose arguments are known"
    tree = functions(code)
    shown = {f.name: [c for c in literal_calls(f.name, texts) if len(c) == len(f.args.args)] for f in tree}
    for f in sorted(tree, key=lambda f: not shown[f.name]):
        function = load(code, f.name)
        kinds = kinds_of(f)
        calls = shown[f.name]
        if function is None or not (calls or kinds):
            continue
        inputs, seen = [], set()
        for i in range(60):
            args = calls[i] if i < len(calls) else (
                tuple(vary(a) for a in rng.choice(calls)) if calls else tuple(fresh(kind) for kind in kinds))
            if repr(args) not in seen:
                seen.add(repr(args))
                inputs.append(args)
        results = [(args, call(function, args)) for args in inputs]
        good = [(args, text) for args, text in results if text is not None][:24]
        if len(good) < 10 or len(good) < len(results) * 0.4:
            problem = f"{f.name} fails on inputs of the shape that is known"
            continue
        if len({text for _, text in good}) < 4:
            problem = f"{f.name} gives nearly the same for all inputs"
            continue
        if all(repr(args[0]) == text for args, text in good):
            problem = f"{f.name} returns its argument"
            continue
        theirs = [load(own, f.name) for own in asked if own]
        if any(t and all(call(t, args) == text for args, text in good) for t in theirs):
            problem = f"the question holds a right {f.name} already"
            continue
        return {"name": f.name, "signature": f"{f.name}({', '.join(a.arg for a in f.args.args)})", "code": code,
                "cases": [{"args": repr(args), "result": text} for args, text in good]}
    return {"problem": problem}

def gives_other(code, found, seconds):
    """Whether a function of the code means the same as the one that was found and gives something else for some inputs."""
    cases = [(ast.literal_eval(case["args"]), case["result"]) for case in found["cases"]]
    tree = functions(code)
    for f in tree:
        if f.name != found["name"] and (len(tree) > 1 or len(f.args.args) != len(cases[0][0])):
            continue
        function = load(code, f.name)
        # All calls together stay within the time, unless the code holds on to it.
        most = min(2, 0.8 * seconds / len(cases))
        given = [(call(function, args, most), text) for args, text in cases] if function else []
        told = [ast.literal_eval(mine) == ast.literal_eval(text) for mine, text in given if mine is not None]
        # A function of another name may be about something else; one that mostly agrees is not.
        if told and not all(told) and (f.name == found["name"] or sum(told) * 2 >= len(told)):
            return True
    return False

def apart(ask, seconds):
    """Whether a question is answered with yes in a process of its own, which is killed when its time is over."""
    output, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, b"1" if ask() else b"0")
        finally:
            os._exit(0)
    os.close(into)
    ready, _, _ = select.select([output], [], [], seconds)
    answer = os.read(output, 1) if ready else b""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(output)
    return answer == b"1"

def differs(found, codes):
    """Whether another answer means the same and gives something else. One that fails or is slow says nothing."""
    end = time.monotonic() + budget
    for nth, code in enumerate(codes):
        share = max(0, end - time.monotonic()) / (len(codes) - nth)
        if apart(lambda: gives_other(code, found, share), share):
            return True
    return False

found = {"problem": "no Python that stands alone and defines a function"}
asked = [definitions(block) for block in posts["asked"]]
codes = [list(filter(None, map(definitions, blocks))) for blocks in posts["answers"]]
for nth, own in enumerate(codes):
    for code in own:
        found = probe(code, asked, posts["asked"] + posts["said"])
        if "name" in found:
            break
    if "name" in found:
        if differs(found, [code for other in codes[:nth] + codes[nth + 1:] for code in other]):
            found = {"problem": "the answers give different results", "differ": True}
        break
print(json.dumps(found))
`.trimStart()
