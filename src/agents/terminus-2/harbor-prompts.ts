import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { findProgram } from '../../lib/programs.ts'

/** A text in pieces: each is literal, or the name of a placeholder. */
export type Pieces = readonly (string | { readonly placeholder: string })[]

/** The prompts of an installed Harbor's Terminus-2, in pieces. */
export interface HarborPrompts {
  readonly where: string
  readonly prompts: Readonly<Record<string, Pieces>>
}

const saidSchema = z.object({
  version: z.string(),
  prompts: z.record(z.string(), z.array(z.union([z.string(), z.object({ placeholder: z.string() })]))),
})

const read = new Map<string, HarborPrompts>()

/**
 * Reads the prompts from Harbor's Python installation, once per installation; nothing is stored. Throws UserError when
 * there is none.
 */
export function readHarborPrompts(python: string | null): HarborPrompts {
  const program = python ?? usualPython()
  const known = read.get(program)
  if (known) return known
  const { status, stdout } = spawnSync(program, ['-c', reader], { encoding: 'utf8', timeout: 60_000 })
  const said = status === 0 ? saidSchema.safeParse(parsed(stdout)) : null
  if (!said?.success)
    throw new UserError(
      `prompts=harbor: ${program} has no Harbor whose Terminus-2 can be read`,
      'install it (uv tool install harbor), or set the Python that has it with --ak harbor_python=/path/to/python',
    )
  const found = { where: `Harbor ${said.data.version} of ${program}`, prompts: said.data.prompts }
  read.set(program, found)
  return found
}

/** The Python that the program `harbor` uses, otherwise the one on the path. */
function usualPython(): string {
  const harbor = findProgram('harbor')
  const line = harbor === null ? '' : (readFileSync(harbor, 'utf8').split('\n', 1)[0] ?? '')
  const [, interpreter] = /^#!\s*(\/\S*python[\d.]*)\s*$/.exec(line) ?? []
  return interpreter ?? 'python3'
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return null
  }
}

/**
 * Two prompts are files in Harbor; the others are expressions in its source, which is parsed and not run: constants
 * stay as they are, and interpolated values become placeholders.
 */
const reader = `
import ast, importlib.metadata, importlib.util, json, pathlib, string

spec = importlib.util.find_spec("harbor")
home = pathlib.Path(list(spec.submodule_search_locations)[0]) / "agents" / "terminus_2"
names = {
    "original_instruction": "instruction", "summary_response.content": "summary", "current_screen": "terminal_state",
    "limited_screen": "terminal_state", "terminal_output": "terminal_state", "model_questions": "questions",
    "self._limit_output_length(terminal_output)": "terminal_state", "answers_response.content": "answers",
    "self._get_error_response_type()": "response_type", "feedback": "feedback", "limit_str": "limit",
}

def pieces(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [piece for value in node.values for piece in pieces(value)]
    if isinstance(node, ast.FormattedValue):
        return pieces(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pieces(node.left) + pieces(node.right)
    return [{"placeholder": names[ast.unparse(node)]}]

def formatted(name):
    text = (home / "templates" / name).read_text()
    parts = [part for literal, field, _, _ in string.Formatter().parse(text) for part in (literal, field and {"placeholder": field})]
    return [part for part in parts if part]

functions = {node.name: node for node in ast.walk(ast.parse((home / "terminus_2.py").read_text())) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}

def values(function, name):
    for node in ast.walk(functions[function]):
        targets = [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []
        if name in targets and isinstance(node.value, (ast.JoinedStr, ast.BinOp)):
            yield node.value

def one(function, name, holding=""):
    return pieces(next(value for value in values(function, name) if holding in ast.unparse(value)))

confirms = [node.value for node in ast.walk(functions["_get_completion_confirmation_message"]) if isinstance(node, ast.Return)]
by_kind = {("xml" if "</task_complete>" in ast.unparse(value) else "json"): pieces(value) for value in confirms}
prompts = {
    "first-json": formatted("terminus-json-plain.txt"),
    "first-xml": formatted("terminus-xml-plain.txt"),
    "parse-error": one("_run_agent_loop", "prompt", "feedback"),
    "warnings": one("_run_agent_loop", "observation", "feedback"),
    "confirm-json": by_kind["json"],
    "confirm-xml": by_kind["xml"],
    "too-long": one("_query_llm", "error_msg"),
    "summary": one("_summarize", "summary_prompt"),
    "questions": one("_summarize", "question_prompt"),
    "answers": one("_summarize", "answer_request_prompt"),
    "handoff": one("_summarize", "handoff_prompt"),
    "short-summary": one("_query_llm", "short_prompt"),
}
print(json.dumps({"version": importlib.metadata.version("harbor"), "prompts": prompts}))
`
