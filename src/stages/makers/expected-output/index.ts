import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { DraftFile, RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage } from '../../../core/stage.ts'
import { rowDigest } from '../../../lib/digest-json.ts'
import { makeRandom } from '../../../lib/random.ts'
import { MissingField, renderTemplate } from '../../../lib/template.ts'
import { draftEach } from '../../shared/records/draft-each.ts'
import { normaliserNames, renderOutputTest } from './output-check.ts'
import { type Case, varyCase } from './vary.ts'

const options = z.strictObject({
  instruction: z
    .string()
    .min(1)
    .describe('What the agent is told: `{{field}}` is filled from the row. How to hand in is added.'),
  normalise: z
    .array(z.enum(normaliserNames as [(typeof normaliserNames)[number]]))
    .default([])
    .describe('Which differences in the output mean nothing, beside those at the ends of lines.'),
  order: z.enum(['same', 'any']).default('same'),
  hiddenCases: z.number().int().min(1).max(50).default(4).describe('Inputs beside the one that is shown.'),
  caseSec: z.number().int().min(1).default(10),
  maxChars: z.number().int().min(1).default(20_000),
  pipeline: z.string().min(1).default('scripts'),
})
type Options = z.output<typeof options>

/** The fields a row must have; `problem` says why it is invalid. */
const example = z.object({
  /** The reference: a correct script. */
  script: z.string().min(1).max(20_000),
  interpreter: z.enum(['bash', 'python3']).default('bash'),
  files: z.record(z.string().regex(/^[\w][\w.-]{0,60}$/), z.string().max(100_000)).default({}),
  args: z.array(z.string().regex(/^[^\r\n]*$/)).default([]),
  stdin: z.string().max(100_000).default(''),
  /** What the source claims the script prints for this input. */
  expected: z.string().max(100_000).optional(),
})
type Example = z.output<typeof example>

const tools = {
  bash: { file: '/app/solve.sh', words: 'Bash script', image: 'debian:12-slim' },
  python3: { file: '/app/solve.py', words: 'Python 3 script', image: 'python:3.12-slim' },
} as const

/**
 * V2: a script is correct when it prints what a reference script prints, for the input shown and for others of the same
 * shape.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'makers/expected-output',
  summary: 'One task a row: a script whose output is compared with that of a known one, on inputs that are not shown',
  options,
  make: (given) => draftEach((row, seed) => makeDraft(row, given, seed)),
})

/** The same for one row, for makers that try several methods. */
export function expectedOutputDraft(row: RawRow, given: z.input<typeof options>, seed: number): TaskDraft | Dropped {
  return makeDraft(row, options.parse(given), seed)
}

function makeDraft(row: RawRow, given: Options, seed: number): TaskDraft | Dropped {
  const { problem } = row.fields
  const dropped = (detail: string) => ({ drop: 'no-checkable-answer', detail, id: row.id })
  if (typeof problem === 'string') return dropped(problem)
  const parsed = example.safeParse(row.fields)
  if (!parsed.success) return dropped(told(parsed.error))
  const { pipeline, caseSec, normalise, order } = given
  const { interpreter, script, expected } = parsed.data
  const { files, args, stdin } = parsed.data
  const shown: Case = { files, args, stdin }
  const keepsSorted = /(?:^|\|)\s*(?:comm|join)\s/m.test(script)
  const hidden = varyCase(shown, makeRandom(seed, row.id), { count: given.hiddenCases, keepsSorted })
  if (hidden.length === 0) return dropped('expected an input that can be varied, found none')
  const asked = ask(given.instruction, row)
  if (typeof asked !== 'string') return asked
  if (asked.length > given.maxChars) return { drop: 'too-long', detail: `${asked.length} characters`, id: row.id }
  const { file, image } = tools[interpreter]
  return {
    name: `${pipeline}-${row.id}`,
    instruction: `${asked}\n\n${handIn(parsed.data)}\n`,
    files: {
      'environment/Dockerfile': {
        data: `FROM ${image}\n\nWORKDIR /app\n${Object.keys(files)
          .map((name) => `COPY ${name} /app/${name}\n`)
          .join('')}`,
      },
      ...under('environment', files),
      'tests/test.sh': { data: renderOutputTest({ file, interpreter, normalise, order, caseSec }) },
      'tests/reference': { data: script.endsWith('\n') ? script : `${script}\n` },
      ...(expected !== undefined && { 'tests/expected.txt': { data: `${expected.trimEnd()}\n` } }),
      ...Object.assign({}, ...[shown, ...hidden].map(caseFiles)),
      'solution/reference': { data: script.endsWith('\n') ? script : `${script}\n` },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/reference" ${file}\n` },
    },
    lineage: { pipeline, strategy: 'expected-output', rowId: row.id, rowDigest: rowDigest(row), seed },
  }
}

function ask(template: string, row: RawRow): string | Dropped {
  try {
    return renderTemplate(template, row.fields).trim()
  } catch (error) {
    if (!(error instanceof MissingField)) throw error
    return { drop: 'missing-field', detail: error.message, id: row.id }
  }
}

function handIn({ interpreter, files, args, stdin }: Example): string {
  const { file, words } = tools[interpreter]
  const names = Object.keys(files).map((name) => `\`${name}\``)
  const given = [
    names.length === 0 ? '' : ` in a folder with ${names.join(' and ')} (an example is in \`/app\`)`,
    args.length === 0 ? '' : `, with words after its name such as \`${args.join(' ')}\``,
    stdin === '' ? '' : ', with the text on its standard input',
  ]
  return `Write a ${words}, \`${file}\`, that does this. It is run as \`${interpreter} ${file}\`${given.join('')}, and prints the result and nothing else. It is also tried on other inputs of the same shape.`
}

function caseFiles({ files, args, stdin }: Case, nth: number): Readonly<Record<string, DraftFile>> {
  const dir = `tests/cases/${String(nth).padStart(2, '0')}`
  return {
    ...under(`${dir}/files`, files),
    [`${dir}/args`]: { data: args.map((arg) => `${arg}\n`).join('') },
    [`${dir}/stdin`]: { data: stdin },
  }
}

function under(dir: string, files: Readonly<Record<string, string>>): Readonly<Record<string, DraftFile>> {
  const ended = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${dir}/${name}`, { data: ended(text) }]))
}

function told(error: z.ZodError): string {
  const [issue] = error.issues
  return `expected ${issue?.path.join('.') ?? 'a script'} to be usable: ${issue?.message ?? 'it is not'}`
}
