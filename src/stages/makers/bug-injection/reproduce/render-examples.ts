import type { Random } from '../../../../lib/random.ts'
import { type Answer, type Example, renderProgram } from './example.ts'

/** A program with its actual and expected result, for a reader who writes the issue. */
export function renderExample(example: Example): string {
  return [fenced(example), '', `Result: ${told(example.actual)}`, `Expected: ${told(example.expected)}`].join('\n')
}

/** An issue built around programs that show a bug; its wording is chosen at random. */
export function renderExamples(name: string, [first, second]: readonly Example[], random: Random): string {
  if (!first) throw new Error('expected at least one example')
  const opening = random.pick([
    `I ran into this with the current version of ${name}:`,
    'A small program that shows the problem:',
    'Steps to reproduce:',
    `I use ${name} in a larger program. Reduced to the part that goes wrong:`,
    'This used to work before I updated:',
  ])
  const again = random.pick([
    'The same thing, seen elsewhere:',
    'Another case, probably related:',
    'It also shows here:',
  ])
  const style = random.pick(['headings', 'sentences', 'lines'] as const)
  const parts = [`# ${title(first, random)}`, '', opening, '', ...described(first, style, random)]
  if (second) parts.push('', again, '', ...described(second, style, random))
  return parts.join('\n')
}

function described(example: Example, style: 'headings' | 'sentences' | 'lines', random: Random): string[] {
  const { actual, expected } = example
  const isLong = /\n/.test(actual.text + expected.text) || actual.text.length + expected.text.length > 200
  if (isLong || style === 'headings')
    return [
      fenced(example),
      '',
      '**Actual result**',
      '',
      ...block(actual),
      '',
      '**Expected result**',
      '',
      ...block(expected),
    ]
  if (style === 'lines') return [fenced(example), '', `- expected: ${told(expected)}`, `- actual: ${told(actual)}`]
  const should = random.pick(['I expected', 'It should be', 'The right result would be'])
  const instead = random.pick(['What I get is', 'Instead I get', 'It gives'])
  if (expected.kind === 'value' && actual.kind === 'value')
    return [fenced(example), '', `${should} ${told(expected)}. ${instead} ${told(actual)}.`]
  const now = {
    value: `It returns ${told(actual)}`,
    error: `It fails with ${told(actual)}`,
    endless: 'It never returns',
  }
  const then = {
    value: `It should return ${told(expected)}`,
    error: `It should fail with ${told(expected)}`,
    endless: '',
  }
  return [fenced(example), '', `${now[actual.kind]}. ${then[expected.kind]}.`]
}

function told({ kind, text }: Answer): string {
  if (kind === 'endless') return 'it does not come back'
  // A text with backquotes needs a longer delimiter.
  const mark = text.includes('`') ? '``' : '`'
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return text === '' ? 'nothing' : `${mark}${space}${text}${space}${mark}`
}

function block({ kind, text }: Answer): string[] {
  if (kind === 'endless') return ['It does not come back.']
  const fence = text.includes('```') ? '````' : '```'
  return [fence, text, fence]
}

function fenced(example: Example): string {
  const code = renderProgram(example)
  const fence = code.includes('```') ? '````' : '```'
  return `${fence}${example.language === 'python' ? 'python' : 'js'}\n${code}\n${fence}`
}

function title(example: Example, random: Random): string {
  const { actual, expected } = example
  const subject = subjectOf(example)
  if (actual.kind === 'endless') return random.pick([`${subject} hangs`, `${subject} never returns`])
  if (actual.kind === 'error' && expected.kind === 'error')
    return actual.type === expected.type
      ? `${subject} reports the wrong ${actual.type}`
      : `${subject} raises ${actual.type} instead of ${expected.type}`
  if (actual.kind === 'error')
    return random.pick([`${subject} fails with ${actual.type}`, `${actual.type} from ${subject}`])
  if (expected.kind === 'error')
    return random.pick([`${subject} no longer raises ${expected.type}`, `${subject} accepts what it should refuse`])
  const isShort = `${actual.text}${expected.text}`.length < 50 && !/[\n`]/.test(actual.text + expected.text)
  return random.pick([
    ...[`${subject} returns a wrong result`, `Wrong result from ${subject}`],
    ...(isShort ? [`${subject}: \`${actual.text}\` instead of \`${expected.text}\``] : []),
  ])
}

const common = new Set([
  ...[
    'list',
    'dict',
    'tuple',
    'set',
    'frozenset',
    'sorted',
    'len',
    'str',
    'repr',
    'isinstance',
    'next',
    'iter',
    'bool',
  ],
  ...['int', 'print', 'type', 'float', 'range', 'zip', 'map', 'filter', 'max', 'min', 'sum', 'all', 'any', 'getattr'],
  ...[
    'hasattr',
    'enumerate',
    'bytes',
    'super',
    'format',
    'join',
    'add',
    'append',
    'extend',
    'update',
    'encode',
    'push',
  ],
])

/** Functions and classes that a program defines, with their decorator or base class. */
const definition = /(?:^|\n)(?:@([\w.]+)[^\n]*\n)?(?:async\s+)?(?:def\s+(\w+)|class\s+(\w+)(?:\(([\w.]+)[,)])?)/g

/** Names that a program defines itself, and what its imported names refer to. */
interface Names {
  /** The public name behind a name; undefined when there is none. */
  readonly defined: ReadonlyMap<string, readonly string[] | undefined>
  /** Methods and nested functions. */
  readonly inner: ReadonlySet<string>
  readonly standard: ReadonlySet<string>
  readonly modules: ReadonlySet<string>
  readonly imported: ReadonlySet<string>
}

function namesOf({ imports, setup }: Example['program']): Names {
  const code = setup.join('\n')
  const lines = imports.map((line) => {
    const [head = '', names] = line.split(' import ')
    const module = head.replace(/^(?:from|import)\s+/, '')
    return { module, names: names?.split(/,\s*/) }
  })
  return {
    defined: new Map([
      ...[...code.matchAll(definition)].map(
        ([, decorator, name, kind = '', base]) => [name ?? kind, (decorator ?? base)?.split('.')] as const,
      ),
      // An object that is called itself: its constructor is publicly known.
      ...[...code.matchAll(/^(\w+) = ([\w.]+)\(/gm)].map(
        ([, name = '', made]) => [`${name}(`, made?.split('.')] as const,
      ),
    ]),
    inner: new Set([...code.matchAll(/\n[ \t]+(?:async\s+)?def\s+(\w+)/g)].map(([, name = '']) => name)),
    standard: new Set(
      lines.flatMap(({ module, names }) =>
        standardModules.test(module) ? (names ?? [module.split('.')[0] ?? '']) : [],
      ),
    ),
    // `shop.format` is the project's own, whatever method strings have under this name.
    modules: new Set(imports.flatMap((line) => /^import\s+([\w.]+)$/.exec(line)?.[1]?.split('.')[0] ?? [])),
    imported: new Set(lines.flatMap(({ names }) => names ?? [])),
  }
}

/** The non-local functions that a line calls, each as its path. */
function callsIn(line: string, names: Names): readonly (readonly string[])[] {
  const { defined } = names
  const calls = [...line.matchAll(/(\.?)\b(?<!\bdef )([A-Za-z_][\w.]*)\(/g)]
  return calls.flatMap(([, dot = '', name = '']): (readonly string[])[] => {
    const path = name.split('.')
    const first = path[0] ?? ''
    const known = [first, ...(path.length === 1 ? [`${first}(`] : [])].find((key) => defined.has(key))
    if (known !== undefined) return [defined.get(known) ?? []]
    return isInner(dot === '' ? path : ['', ...path], names) ? [] : [path]
  })
}

/** Whether a path ends in a method or nested function of the program, not in one of the project with the same name. */
function isInner(path: readonly string[], { defined, inner, modules, imported }: Names): boolean {
  const [first = ''] = path
  if (!inner.has(path.at(-1) ?? '') || modules.has(first)) return false
  if (path.length === 1) return !imported.has(first)
  const maker = defined.get(`${first}(`)?.[0]
  return maker === undefined || defined.has(maker)
}

/** What was called: the outermost call of something that belongs neither to the language nor to the program. */
function subjectOf({ program }: Example): string {
  const { expr, setup } = program
  const names = namesOf(program)
  const { standard, modules } = names
  const last = lastOfChain(expr)
  if (last !== null && !common.has(last) && !builtIn.test(last) && !names.inner.has(last)) return `\`${last}\``
  // A failing subscript is the object's fault, whatever was called before.
  const [, taken] = /^(?:\w+\()*(\w+)\[[^(]*\]\)*$/.exec(expr) ?? []
  const made = taken === undefined ? undefined : setup.findLast((line) => line.startsWith(`${taken} = `))
  for (const line of [expr, ...(made === undefined ? [] : [made]), ...setup.toReversed()]) {
    const own = callsIn(line, names).find(
      ([first = '', ...rest]) =>
        first !== '' && !standard.has(first) && (modules.has(first) || !common.has(rest.at(-1) ?? first)),
    )
    if (own) return `\`${own.at(-1)}\``
  }
  const attribute = /\.(\w+)$/.exec(expr)?.[1]
  return attribute === undefined ? 'This' : `\`${attribute}\``
}

/** Methods of strings, lists and files. */
const builtIn =
  /^(?:splitlines|r?split|[lr]?strip|lower|upper|title|replace|decode|getvalue|read\w*|write|keys|values|items|get|pop|copy|sort|index|count|(?:starts|ends)with|to(?:String|Array|LowerCase|UpperCase)|trim|slice|group(?:s|dict)?|r?find|isoformat|total_seconds|hexdigest|includes|indexOf|concat|reduce|map|filter|join)$/

/** The last method called in `made(1).changed(2).method(3)`; null when nothing is called on a result. */
function lastOfChain(expr: string): string | null {
  const plain = expr.replace(/(["'])(?:\\.|(?!\1)[^\\])*\1/g, (text) => '_'.repeat(text.length))
  const [, wrapper, inner] = /^(\w+)\((.*)\)$/s.exec(plain) ?? []
  if (wrapper !== undefined && inner !== undefined && common.has(wrapper)) return lastOfChain(inner)
  let open = 0
  let at = plain.length
  if (!plain.endsWith(')')) return null
  do {
    at--
    open += /[)\]}]/.test(plain[at] ?? '') ? 1 : /[([{]/.test(plain[at] ?? '') ? -1 : 0
  } while (open > 0 && at > 0)
  return /[)\]]\.([A-Za-z]\w*)$/.exec(plain.slice(0, at))?.[1] ?? null
}

const standardModules =
  /^(?:datetime|re|os|sys|collections|itertools|functools|operator|math|json|io|decimal|fractions|time|string|random|pathlib|tempfile|typing|copy|pickle|enum|types|inspect|textwrap|threading|warnings)(?:\.|$)/
