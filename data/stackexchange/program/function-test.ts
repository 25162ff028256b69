import { sandboxPaths } from 'ot-agent'

/** The test of a function: its cases are out of the agent's reach before the agent's code runs. */
export function functionTest(file: string): string {
  const { tests, verifierLogs } = sandboxPaths
  return `#!/bin/sh
# Calls the function of ${file} on every case, each in a process of its own.
reward=0
if [ -f ${file} ] && [ ! -L ${file} ] && python3 -I ${tests}/run_cases.py; then
  reward=1
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}

/** Compares values, not their spelling; floats may differ in their last digits. */
export function runFunctionPy(file: string): string {
  const { tests } = sandboxPaths
  return `
import ast, json, math, os, subprocess, sys

path = "${tests}/cases.json"
with open(path) as cases_file:
    plan = json.load(cases_file)
# The agent's code must not find the results.
os.remove(path)

child = r"""
import ast, importlib.util, json, os, sys
name, args = json.loads(sys.stdin.read())
out = os.dup(1)
os.dup2(2, 1)
spec = importlib.util.spec_from_file_location("solution", "${file}")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
text = repr(getattr(module, name)(*ast.literal_eval(args)))
os.write(out, text.encode())
"""

def same(a, b):
    if isinstance(a, float) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b

right = 0
for case in plan["cases"]:
    try:
        ran = subprocess.run([sys.executable, "-I", "-c", child], input=json.dumps([plan["name"], case["args"]]),
                             capture_output=True, text=True, timeout=20)
        right += ran.returncode == 0 and same(ast.literal_eval(case["result"]), ast.literal_eval(ran.stdout))
    except (ValueError, SyntaxError, MemoryError, RecursionError, subprocess.TimeoutExpired):
        pass
print(f"{right} of {len(plan['cases'])} cases are right")
sys.exit(0 if right == len(plan["cases"]) else 1)
`.trimStart()
}
