import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { DraftFile, RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage } from '../../../core/stage.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { rowDigest } from '../../../lib/digest-json.ts'
import { shellQuote } from '../../../lib/shell.ts'
import { MissingField, renderTemplate, valueAt } from '../../../lib/template.ts'
import { draftEach } from '../../shared/records/draft-each.ts'
import { answerChecks, answerHints, compareAwk, renderAnswerTest } from './answer-check.ts'

const sandboxPath = z.string().regex(/^\/[\w./-]+$/, 'expected a path in the sandbox such as /app/answer.txt')

const answer = z.strictObject({
  field: z
    .string()
    .min(1)
    .describe(
      'Where the expected answer is: a field, or a dotted path; a list there means that each of its values counts.',
    ),
  pattern: z
    .string()
    .min(1)
    .optional()
    .describe('Takes the answer out of a longer text: its first group, at its last match.'),
  check: z.enum(answerChecks).default('text').describe('How the answer in the file is compared with the expected one.'),
  file: sandboxPath.default('/app/answer.txt'),
})

const code = z.strictObject({
  field: z
    .string()
    .min(1)
    .describe(
      'The field that holds a Python program, in a fenced block or bare: the reference solution, and lines that use it.',
    ),
  file: sandboxPath.default('/app/solution.py'),
})

const options = z.strictObject({
  instruction: z
    .string()
    .min(1)
    .describe('What the agent is told: `{{field}}` is filled from the row. How to hand in the answer is added.'),
  answer: answer.optional(),
  code: code.optional(),
  files: z
    .record(z.string().regex(/^[\w.-]+$/), z.string())
    .default({})
    .describe('Files of the environment by their name, filled in likewise: they are put into /app.'),
  minChars: z
    .number()
    .int()
    .min(0)
    .default(10)
    .describe('Rows whose instruction has fewer or more characters are dropped.'),
  maxChars: z.number().int().min(1).default(20_000),
  pipeline: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the pipeline, for the lineage and the tasks' names (default: the row's source)."),
})
type Options = z.output<typeof options>

/** S1: a row's fields fill a template, and a checker compares with the row's own answer. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'makers/row-template',
  summary: 'One task a row: a template for the instruction, and a check of the answer',
  options,
  make: (given) => draftEach((row, seed) => makeDraft(row, given, seed)),
})

function makeDraft(row: RawRow, given: Options, seed: number): TaskDraft | Dropped {
  const { pipeline = row.source } = given
  try {
    const asked = renderTemplate(given.instruction, row.fields).trim()
    const length = [...asked].length
    if (length < given.minChars || length > given.maxChars)
      return { drop: length < given.minChars ? 'too-short' : 'too-long', detail: `${length} characters`, id: row.id }
    const proof = given.code ? proveCode(row, given.code) : given.answer ? proveAnswer(row, given.answer) : noProof
    if ('drop' in proof) return { ...proof, id: row.id }
    const texts = Object.entries(given.files).map(([name, text]) => [name, renderTemplate(text, row.fields)] as const)
    return {
      name: `${pipeline}-${row.id}`,
      instruction: `${asked}\n\n${proof.handIn}\n`,
      files: { ...environmentFiles(texts, proof.image), ...proof.files },
      lineage: { pipeline, strategy: 'row-template', rowId: row.id, rowDigest: rowDigest(row), seed },
    }
  } catch (error) {
    if (!(error instanceof MissingField)) throw error
    return { drop: 'missing-field', detail: error.message, id: row.id }
  }
}

interface Proof {
  readonly handIn: string
  readonly image: string
  readonly files: Readonly<Record<string, DraftFile>>
}

const noProof: Dropped = { drop: 'no-check', detail: 'expected an answer or code to check by, got neither' }

function proveAnswer({ fields }: RawRow, { field, pattern, check, file }: z.output<typeof answer>): Proof | Dropped {
  const found = valueAt(fields, field)
  if (found === undefined || found === null) throw new MissingField(field)
  const given = (Array.isArray(found) ? found : [found]).map((value) => extract(String(value), pattern))
  const answers = given.filter((text) => text !== null).map((text) => text.trim())
  const plain = answers.filter((text) => isShort(text) && (check !== 'number' || isNumber(text)))
  if (plain.length === 0)
    return { drop: 'no-checkable-answer', detail: `expected a short answer of one line in ${field}, found none` }
  return {
    handIn: `Write the answer to \`${file}\`, ${answerHints[check]}.`,
    image: 'debian:12-slim',
    files: {
      'tests/test.sh': { data: renderAnswerTest(file, check) },
      'tests/compare.awk': { data: compareAwk },
      'tests/expected.txt': { data: `${[...new Set(plain)].join('\n')}\n` },
      'solution/solve.sh': { data: `#!/bin/sh\nprintf '%s\\n' ${shellQuote(plain[0] ?? '')} > ${file}\n` },
    },
  }
}

function isShort(text: string): boolean {
  return text !== '' && !/[\r\n]/.test(text) && text.length <= 1000
}

/** What the check accepts as a number. */
function isNumber(text: string): boolean {
  return /^\$?[+-]?(?:\d[\d, _]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[%.]?$|^[+-]?\d+\/0*[1-9]\d*$/.test(text)
}

/** The last match, because reasoning precedes its result. */
function extract(text: string, pattern: string | undefined): string | null {
  if (pattern === undefined) return text
  const matches = [...text.matchAll(new RegExp(pattern, 'gm'))]
  return matches.at(-1)?.[1] ?? null
}

function proveCode({ fields }: RawRow, { field, file }: z.output<typeof code>): Proof | Dropped {
  const found = valueAt(fields, field)
  if (typeof found !== 'string') throw new MissingField(field)
  const program = pythonBlock(found) ?? (found.includes('```') ? null : found)
  const parts = program === null ? null : takeApart(program)
  if (parts === null)
    return { drop: 'no-checkable-answer', detail: `expected Python in ${field} that defines something and uses it` }
  const names = parts.names.map((name) => `\`${name}\``).join(', ')
  return {
    handIn: `Write the Python code to \`${file}\`. It has to define ${names}; tests import nothing else and call it themselves.`,
    image: 'python:3.12-slim',
    files: {
      'tests/test.sh': { data: renderCodeTest(file) },
      'tests/reference.py': { data: parts.definitions },
      'tests/driver.py': { data: parts.driver },
      'solution/solve.sh': { data: '#!/bin/sh\ncp "$(dirname "$0")/solution.py" '.concat(file, '\n') },
      'solution/solution.py': { data: parts.definitions },
    },
  }
}

function environmentFiles(
  texts: readonly (readonly [name: string, text: string])[],
  image: string,
): Readonly<Record<string, DraftFile>> {
  const copies = texts.map(([name]) => `COPY ${name} /app/${name}\n`).join('')
  return {
    'environment/Dockerfile': { data: `FROM ${image}\n\nWORKDIR /app\n${copies}` },
    ...Object.fromEntries(texts.map(([name, text]) => [`environment/${name}`, { data: text }])),
  }
}

/** A Python program split into its definitions and the final lines that use them. */
interface PythonParts {
  readonly definitions: string
  /** `print(...)` and `assert ...` at the top level. */
  readonly driver: string
  /** Functions and classes at the top level. */
  readonly names: readonly string[]
}

/** The first fenced Python block in a text; null when there is none. */
function pythonBlock(text: string): string | null {
  return /```(?:python3?|py)\s*\n([\s\S]*?)```/i.exec(text)?.[1] ?? null
}

/** Splits a program; null when it defines nothing, or does nothing with it that could be compared. */
export function takeApart(code: string): PythonParts | null {
  const kept: string[] = []
  const driver: string[] = []
  let open: string[] | null = null
  for (const line of code.replace(/\r/g, '').split('\n')) {
    const isTop = /^\S/.test(line) && !/^[)\]}]/.test(line)
    if (isTop) open = /^(?:print\s*\(|assert\b)/.test(line) ? driver : kept
    ;(open ?? kept).push(line)
  }
  const names = kept.flatMap((line) => /^(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)/.exec(line)?.[1] ?? [])
  const uses = driver.filter((line) => names.some((name) => new RegExp(`\\b${name}\\b`).test(line)))
  if (names.length === 0 || uses.length === 0) return null
  return { definitions: `${kept.join('\n').trim()}\n`, driver: `${driver.join('\n').trim()}\n`, names }
}

/**
 * Runs the same lines with the agent's definitions and with the reference's, in separate processes, and compares what
 * they print. Asserts must hold. The reference must print or assert something about itself.
 */
function renderCodeTest(file: string): string {
  const { tests, verifierLogs } = sandboxPaths
  return `#!/bin/sh
# The lines of driver.py must do the same with the definitions of ${file} as with those of reference.py.
reward=0
work=$(mktemp -d)
run() {
  cat "$1" ${tests}/driver.py > "$work/program.py" && (cd "$work" && timeout 60 python3 -I program.py > "$2" 2> "$work/errors")
}
if [ -f ${file} ] && [ ! -L ${file} ] && run ${tests}/reference.py "$work/expected"; then
  if run ${file} "$work/actual" && cmp -s "$work/expected" "$work/actual"; then
    reward=1
  fi
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}
