import { shellQuote } from '../../../lib/shell.ts'
import { proseLines } from './named-paths.ts'
import { functionsToDefine, languageOf, shallowQueries, writeProgram } from './shallow-programs.ts'

/** One way to answer without reading what is asked. */
export interface ShallowSolution {
  readonly name: string
  /** Bash, run in the working directory. */
  readonly script: string
}

export interface ShallowAsk {
  readonly instruction: string
  /** Files to create, by absolute path. */
  readonly targets: readonly string[]
  /** Existing files, by absolute path. */
  readonly inputs: readonly string[]
}

/** Return values of functions that ignore what is asked. */
const results = ['None', '[]', 'first', '{}', "''", '0', 'True', 'False']
const constants = ['0', '1', 'true', 'yes', '[]', '{}']
const mostInputs = 3
const mostExamples = 4
const mostFences = 8
const mostBytes = 20_000

/** The shallow solutions of a task, the likeliest to be paid first. Each writes the same into every requested file. */
export function shallowSolutions({ instruction, targets, inputs }: ShallowAsk): ShallowSolution[] {
  if (targets.length === 0) return []
  const everywhere = (name: string, write: (target: string) => string): ShallowSolution => ({
    name,
    script: targets.map((target) => `${makeParent(target)}\n${write(target)}`).join('\n'),
  })
  const text = (name: string, content: string) => everywhere(name, (target) => writeText(target, content))
  const program = (name: string, content: string, ending: string) =>
    everywhere(name, (target) =>
      target.endsWith(ending) ? writeProgram(target, content) : `touch ${shellQuote(target)}`,
    )
  const has = (ending: string) => targets.some((target) => target.endsWith(ending))
  const functions = has('.py') ? functionsToDefine(instruction) : []
  const queries = has('.sql') ? shallowQueries(instruction) : []
  const asksForProgram = targets.some((target) => languageOf(target) !== null)
  // A program may get its input only when it runs.
  const copied = inputs.length === 0 && asksForProgram ? ['stdin'] : inputs
  return [
    ...queries.map((query) => program(`ask for all there is: ${query}`, query, '.sql')),
    ...(functions.length === 0 ? [] : results).map((result) =>
      program(
        `define ${functions.join(', ')}: return ${result}`,
        functions.map((name) => `def ${name}(first=None, *rest, **named):\n    return ${result}\n`).join('\n'),
        '.py',
      ),
    ),
    ...(asksForProgram ? fencesIn(instruction) : []).map((example) =>
      everywhere(`write an example of the instruction as it stands: ${short(example)}`, (target) =>
        writeProgram(target, example),
      ),
    ),
    everywhere('touch every file that is asked for', (target) => `touch ${shellQuote(target)}`),
    text('write an empty line', ''),
    ...examplesIn(instruction).map((example) =>
      text(`write an example of the instruction: ${short(example)}`, example),
    ),
    ...copied.slice(0, mostInputs).map((input) => everywhere(`copy ${input}`, (target) => copyInput(input, target))),
    everywhere('list the files: ls', (target) => writeOutput(target, 'ls')),
    everywhere('list the files: find .', (target) => writeOutput(target, 'find .')),
    ...constants.map((constant) => text(`write the constant ${constant}`, constant)),
  ]
}

/** What the instruction shows in fences, backticks or quotation marks, without paths, longest first. */
export function examplesIn(instruction: string): string[] {
  const prose = proseLines(instruction)
    .map(({ text }) => text)
    .join('\n')
  const inline = [...prose.matchAll(/`([^`\n]{1,200})`|"([^"\n]{1,200})"/g)].map(([, code, quoted]) => code ?? quoted)
  const all = [...fencedIn(instruction), ...inline].filter(
    (example): example is string => example !== undefined && isExample(example),
  )
  return [...new Set(all)].sort((a, b) => b.length - a.length).slice(0, mostExamples)
}

/** What the instruction shows in fences, which may be the very program it asks for. */
function fencesIn(instruction: string): string[] {
  return [...new Set(fencedIn(instruction).filter(isExample))].slice(0, mostFences)
}

/** The text between fences. A closing fence may be at the end of a line. */
function fencedIn(instruction: string): string[] {
  const bodies: string[] = []
  let body: string[] | null = null
  for (const line of instruction.split('\n')) {
    const end = line.trimEnd()
    if (body === null) {
      if (/^[ \t]*(?:```|~~~)/.test(line)) body = []
    } else if (end.endsWith('```') || end.endsWith('~~~')) {
      const last = end.slice(0, -3).trimEnd()
      bodies.push([...body, ...(last === '' ? [] : [last])].join('\n'))
      body = null
    } else body.push(line)
  }
  return bodies
}

function isExample(text: string): boolean {
  return text.trim() !== '' && text.length <= mostBytes && !/^[\w.-]*\/[\w./-]*$/.test(text)
}

const makeParent = (target: string) => `mkdir -p ${shellQuote(target.slice(0, target.lastIndexOf('/')) || '/')}`

/** For a program file, writes a program that prints the text. */
function writeText(target: string, text: string): string {
  const language = languageOf(target)
  return language
    ? writeProgram(target, language.print(text))
    : `printf '%s\\n' ${shellQuote(text)} > ${shellQuote(target)}`
}

/** For a program file, writes a program that copies its input. */
function copyInput(input: string, target: string): string {
  const language = languageOf(target)
  return language
    ? writeProgram(target, language.copy(input.slice(input.lastIndexOf('/') + 1)))
    : `cat ${shellQuote(input)} > ${shellQuote(target)}`
}

function writeOutput(target: string, command: string): string {
  const language = languageOf(target)
  return language ? writeProgram(target, language.command(command)) : `${command} > ${shellQuote(target)}`
}

function short(text: string): string {
  const [line = ''] = text.trim().split('\n')
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}
