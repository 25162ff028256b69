import { sandboxPaths } from '../../../core/task-paths.ts'

/** Supported languages: where the program is, the image it runs in, and how to run it. */
export const languages = {
  python: {
    file: '/app/solution.py',
    words: 'Python 3',
    image: 'python:3.12-slim',
    build: [],
    run: ['python3', '/app/solution.py'],
  },
  cpp: {
    file: '/app/solution.cpp',
    words: 'C++17',
    image: 'gcc:13',
    build: ['g++', '-O2', '-std=c++17', '-o', 'BUILT', '/app/solution.cpp'],
    run: ['BUILT'],
  },
} as const
export type Language = keyof typeof languages

/** Starts the runner; the reward is 0 unless the runner says otherwise. */
export function renderIoTest(): string {
  const { tests, verifierLogs } = sandboxPaths
  return `#!/bin/sh
# Runs the program on every case of cases.json and compares what it prints.
reward=0
if python3 -I ${tests}/run_cases.py; then
  reward=1
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}

/**
 * The runner. It reads all cases before the first run and deletes them, so that a program finds no expected output on
 * disk. It compares outputs word by word: decimal numbers may differ by a millionth or by the error that the statement
 * accepts, and case is ignored if the statement says so. A problem's own checker, if any, decides instead.
 */
export const runCasesPy = `import json, os, signal, subprocess, sys, tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(TESTS, "cases.json")) as file:
    PLAN = json.load(file)
CHECKER = None
if os.path.exists(os.path.join(TESTS, "checker.py")):
    with open(os.path.join(TESTS, "checker.py")) as file:
        CHECKER = file.read()
for name in ("cases.json", "checker.py"):
    try:
        os.remove(os.path.join(TESTS, name))
    except OSError:
        pass
LIMIT = 16 * 1024 * 1024


def run(words, text, seconds, folder):
    """What a program prints, and None; or None and what was wrong. Its input is a file, as on the judges' machines: some programs ask for its size."""
    late = False
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(text.encode())
        given.seek(0)
        child = subprocess.Popen(words, stdin=given, stdout=out, stderr=subprocess.DEVNULL, cwd=folder, start_new_session=True)
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        if late:
            return None, f"takes more than {seconds} s"
        if child.returncode != 0:
            return None, f"ends with {child.returncode}"
        if out.tell() > LIMIT:
            return None, "prints too much"
        out.seek(0)
        return out.read().decode("utf-8", "replace"), None


def close(expected, actual):
    if expected == actual:
        return True
    # A whole number may be meant exactly, unless the statement accepts an error and a number with a point came.
    if "." not in expected and not ("error" in PLAN and "." in actual):
        return False
    try:
        a, b = float(expected), float(actual)
    except ValueError:
        return False
    return abs(a - b) <= PLAN.get("error", 1e-6) * max(1.0, abs(a))


def same(expected, actual):
    if PLAN.get("anyCase"):
        expected, actual = expected.lower(), actual.lower()
    a, b = expected.split(), actual.split()
    return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))


def judged(case, actual, folder):
    if CHECKER is None:
        return same(case["output"], actual)
    paths = []
    for name, text in (("checker.py", CHECKER), ("input", case["input"]), ("expected", case["output"]), ("actual", actual)):
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w") as file:
            file.write(text)
    said, _ = run(["python3", "-I"] + paths, "", 30, folder)
    for path in paths:
        os.remove(path)
    try:
        return said is not None and float(said.split()[-1]) >= 1
    except (IndexError, ValueError):
        return False


def main():
    program = PLAN["program"]
    if not os.path.isfile(program) or os.path.islink(program):
        return False
    with tempfile.TemporaryDirectory() as work:
        built = os.path.join(work, "built")
        words = lambda given: [built if word == "BUILT" else word for word in given]
        if PLAN["build"] and run(words(PLAN["build"]), "", 120, work)[0] is None:
            print("the program cannot be built")
            return False
        right = 0
        for number, case in enumerate(PLAN["cases"], 1):
            with tempfile.TemporaryDirectory() as folder:
                actual, problem = run(words(PLAN["run"]), case["input"], PLAN["seconds"], folder)
            with tempfile.TemporaryDirectory() as folder:
                if actual is not None and judged(case, actual, folder):
                    right += 1
                else:
                    print("case", number, problem or "is wrong")
        print(right, "of", len(PLAN["cases"]), "cases are right")
        return right == len(PLAN["cases"]) and right > 0


sys.exit(0 if main() else 1)
`
