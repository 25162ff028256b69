import { shellQuote } from '../../../lib/shell.ts'
import type { ShallowSolution } from './shallow-solutions.ts'

/** A function of the workspace whose body is missing. */
export interface Stub {
  readonly path: string
  readonly name: string
  /** The lines to replace, counted from 1; the first `column` bytes of the first line stay. */
  readonly first: number
  readonly last: number
  readonly column: number
  /** Its first parameter other than the object itself; empty when it has none. */
  readonly argument: string
  /** The call that passes a method's arguments to the parent class; empty for a function. */
  readonly above: string
}

/** Whether an instruction may ask for function bodies: only then is the workspace searched for stubs. */
export function mayAskForBodies(instruction: string): boolean {
  return /\.py\b|\bfunctions?\b|\bmethods?\b/i.test(instruction) || speaksOfStubs.test(instruction)
}

const speaksOfStubs =
  /\bimplement|NotImplemented|\bTODO\b|\bstubs?\b|\b(?:complete|finish|fill in|write)\b.{0,40}\b(?:functions?|methods?)\b/i

/** Python, which parses files exactly: prints a line for each function whose only statement does nothing. */
const finder = `
import ast, os, sys

def is_stub(node, source):
    if isinstance(node, ast.Raise):
        what = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return getattr(what, "id", "") == "NotImplementedError"
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value is Ellipsis
    if isinstance(node, ast.Return) and "TODO" in source:
        return node.value is None or isinstance(node.value, ast.Constant)
    return False

def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

def decorators(node):
    return {getattr(it, "id", getattr(it, "attr", "")) for it in node.decorator_list}

def show(path, node, owner, lines):
    marks = decorators(node)
    if marks & {"abstractmethod", "overload"}:
        return
    names = [it.arg for it in node.args.posonlyargs + node.args.args]
    if owner and "staticmethod" not in marks:
        names = names[1:]
    given = node.args
    call = list(names)
    call += ["*" + given.vararg.arg] if given.vararg else []
    call += [it.arg + "=" + it.arg for it in given.kwonlyargs]
    call += ["**" + given.kwarg.arg] if given.kwarg else []
    above = node.name + "(" + ", ".join(call) + ")" if owner and "staticmethod" not in marks else ""
    first = names[0] if names else ""
    body = node.body[1:] if is_text(node.body[0]) else node.body
    end = getattr(node, "end_lineno", node.lineno)
    if not body:
        at = node.body[0].end_lineno
        print(path, node.name, at + 1, at, 0, first, above, sep="\\t")
    elif len(body) == 1 and is_stub(body[0], "\\n".join(lines[node.lineno - 1:end])):
        it = body[0]
        print(path, node.name, it.lineno, it.end_lineno, it.col_offset, first, above, sep="\\t")

def walk(path, node, owner, lines):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            show(path, child, owner, lines)
        walk(path, child, isinstance(child, ast.ClassDef), lines)

seen = 0
for folder, folders, files in os.walk(os.getcwd()):
    depth = folder[len(os.getcwd()):].count("/")
    skip = {"node_modules", "site-packages", "tests", "test"}
    folders[:] = sorted(it for it in folders if depth < 4 and it not in skip and not it.startswith("."))
    for name in sorted(files):
        path = os.path.join(folder, name)
        if not name.endswith(".py") or os.path.islink(path) or os.path.getsize(path) > 262144:
            continue
        seen += 1
        if seen > 300:
            sys.exit()
        try:
            source = open(path, encoding="utf-8").read()
            walk(path, ast.parse(source), False, source.split("\\n"))
        except (SyntaxError, ValueError, OSError, RecursionError):
            pass
`

/** Prints the stubs of the working directory, one per line; nothing if there is no Python. */
export const findStubsScript = `command -v python3 > /dev/null && PYTHONUTF8=1 python3 -I -S -c ${shellQuote(finder)} 2> /dev/null | head -n 2000`

/**
 * Parses the output of `findStubsScript` and keeps the stubs that the instruction asks for: those it names, or all when
 * it names none.
 */
export function stubsAskedFor(lines: readonly string[], instruction: string): Stub[] {
  const stubs = lines.flatMap((line) => {
    const [, path = '', name = '', ...rest] = stubLine.exec(line) ?? []
    const [first, last, column] = rest.map(Number)
    if (first === undefined || last === undefined || column === undefined) return []
    return [{ path, name, first, last, column, argument: rest[3] ?? '', above: rest[4] ?? '' }]
  })
  const named = stubs.filter(({ name }) => new RegExp(`(?<!\\w)${name}(?!\\w)`).test(instruction))
  if (named.length > 0) return named.slice(0, mostStubs)
  return speaksOfStubs.test(instruction) ? stubs.slice(0, mostStubs) : []
}

const mostStubs = 100
const stubLine = /^(\/[^\t]+)\t(\w+)\t(\d+)\t(\d+)\t(\d+)\t(\w*)\t([\w*=, ()]*)$/

const argument = 'the first argument'
const above = 'what the class above does'
/** The likeliest come first, because only a few are tried when the tests are slow. */
const results = ['None', '[]', argument, above, '{}', "''", '0', 'True', 'False']

/** Solutions that give all of these functions the same trivial body. */
export function shallowBodies(stubs: readonly Stub[]): ShallowSolution[] {
  const files = [...new Set(stubs.map(({ path }) => path))]
  const names = [...new Set(stubs.map(({ name }) => name))]
  const who = names.length > 3 ? `${names.length} functions` : names.join(', ')
  if (files.length === 0) return []
  const tried = stubs.some((stub) => stub.above !== '') ? results : results.filter((result) => result !== above)
  return tried.map((result, nth) => ({
    name: `write the body of ${who}: return ${result}`,
    script: files
      .map((path) => {
        const edits = stubs.filter((stub) => stub.path === path).map((stub) => edit(stub, result))
        const file = shellQuote(path)
        // Each file gets a different time: Python reuses compiled code if a file's time (in seconds) and size match.
        return `LC_ALL=C sed -i ${edits.join(' ')} ${file}\ntouch -d @${1_000_000_000 + nth} ${file}`
      })
      .join('\n'),
  }))
}

function edit(stub: Stub, result: string): string {
  const { first, last, column } = stub
  const told: Readonly<Record<string, string>> = {
    [argument]: stub.argument || 'None',
    [above]: stub.above === '' ? 'None' : `super().${stub.above}`,
  }
  const statement = `return ${told[result] ?? result}`
  // It has only a docstring, so the statement goes after it.
  if (last < first) return `-e ${shellQuote(`${last}s/$/; ${statement}/`)}`
  const replaced = `-e ${shellQuote(`${first}s/^\\(.\\{${column}\\}\\).*/\\1${statement}/`)}`
  return last > first ? `${replaced} -e '${first + 1},${last}d'` : replaced
}
