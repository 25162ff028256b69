import { createHash } from 'node:crypto'
import type { Draws } from 'ot-agent'
import { file, type Probe, type Tree } from '../work.ts'
import type { Shape } from './shapes.ts'
import type { Table } from './table.ts'

/** The result before constraints: one file. Each constraint changes what is expected and how to produce it. */
export interface Output {
  /** Relative to the work folder. */
  readonly path: string
  readonly text: string
  readonly table: Table
  readonly shape: Shape
  readonly inputs: readonly string[]
  /** Other files that the task asks for, and others that it reads and keeps. */
  readonly others: { readonly made: boolean; readonly read: readonly string[] }
}

export interface Bound {
  readonly say: string
  /** Merged into the expected files; null removes a path. */
  readonly after?: Readonly<Record<string, Tree[string] | null>>
  readonly probes?: readonly Probe[]
  /** Shell code that runs in the work folder after `$out` was written. */
  readonly shell?: string
  readonly closed?: boolean
}

export interface Constraint {
  readonly name: string
  /** Constraints on the same aspect are not drawn together. */
  readonly on: 'form' | 'beside' | 'mode' | 'source' | 'rest'
  draw(output: Output, random: Draws): Bound
}

const sha = (path: string) => `sha256sum ${path}`

/** What may be required of a result besides its content. */
export const constraints: readonly Constraint[] = [
  {
    name: 'crlf-output',
    on: 'form',
    draw: ({ path, text }, random) => ({
      say: random.pick([
        'Every line of the result ends with CR LF.',
        'Terminate the lines of the result the Windows way, with CR LF.',
      ]),
      after: { [path]: file(text.replaceAll('\n', '\r\n')) },
      shell: `sed -i 's/$/\\r/' "$out"`,
    }),
  },
  {
    name: 'gzip-output',
    on: 'form',
    draw: ({ path, text }, random) => ({
      say: random.pick([
        `Compress the result with gzip: \`${base(path)}.gz\` instead of \`${base(path)}\`, in the same place.`,
        `Leave only the gzipped form of it, \`${base(path)}.gz\`, in that folder; its uncompressed content is what is described above.`,
      ]),
      after: { [path]: null, [`${path}.gz`]: { kind: 'some' } },
      probes: [{ command: `[ ! -e "${path}" ] && gzip -dc < "${path}.gz"`, stdout: text }],
      shell: 'gzip -f "$out"',
    }),
  },
  {
    name: 'no-final-newline',
    on: 'form',
    draw: ({ path, text }, random) => ({
      say: random.pick([
        'The result must not end with a line feed: its last byte is the last character of the last line.',
        'No line feed after the last line of the result, please.',
      ]),
      after: { [path]: file(text.replace(/\n+$/, '')) },
      shell: `printf %s "$(cat "$out")" > "$out.new" && mv "$out.new" "$out"`,
    }),
  },
  {
    name: 'split-output',
    on: 'form',
    draw: ({ path, table, shape }, random) => {
      const size = Math.max(2, Math.ceil(table.rows.length / random.int(2, 4)))
      const [stem, ending] = splitEnding(path)
      const parts = Math.ceil(table.rows.length / size)
      const after: Record<string, Tree[string] | null> = { [path]: null }
      for (let at = 0; at < parts; at++) {
        const part = { ...table, rows: table.rows.slice(at * size, (at + 1) * size) }
        after[`${stem}-${at + 1}${ending}`] = file(shape.render(part))
      }
      const head = shape.headLines
      return {
        say: `Do not write one file but several of at most ${size} records each: \`${base(stem)}-1${ending}\`, \`${base(stem)}-2${ending}\` and so on, filled in order${head > 0 ? ', each with its own header' : ''}; \`${base(path)}\` itself must not be there in the end.`,
        after,
        shell: splitShell(stem, ending, size),
      }
    },
  },
  {
    name: 'checksum-file',
    on: 'beside',
    draw: ({ path, text }, random) => ({
      say: random.pick([
        `Beside it, leave \`${base(path)}.sha256\`, as \`sha256sum ${base(path)}\` prints it when called in that folder.`,
        `Also write its checksum to \`${base(path)}.sha256\`, in the format of \`${sha(base(path))}\` run in the folder of the file.`,
      ]),
      after: { [`${path}.sha256`]: file(`${createHash('sha256').update(text).digest('hex')}  ${base(path)}\n`) },
      shell: `( cd "$(dirname "$out")" && sha256sum "$(basename "$out")" > "$(basename "$out").sha256" )`,
    }),
  },
  {
    name: 'count-file',
    on: 'beside',
    draw: ({ path, table }, random) => ({
      say: random.pick([
        `Write the number of records in the result, as digits and a line feed, to \`${base(path)}.count\` in the same folder.`,
        `Next to it, \`${base(path)}.count\` holds nothing but the number of records of the result and a line feed.`,
      ]),
      after: { [`${path}.count`]: file(`${table.rows.length}\n`) },
      shell: `records | wc -l | tr -d ' ' > "$out.count"`,
    }),
  },
  {
    name: 'output-mode',
    on: 'mode',
    draw: ({ path, text }, random) => {
      const [mode, words] = random.pick([
        ['600', 'only its owner may read and write it'],
        ['640', 'its owner may read and write it, its group only read it, others nothing'],
        ['444', 'everyone may read it and nobody may write it'],
        ['400', 'its owner may read it, and that is all'],
      ] as const)
      return {
        say: random.pick([
          `Give the result the mode ${mode}: ${words}.`,
          `Permissions of the result: ${words} (${mode}).`,
        ]),
        after: { [path]: file(text, mode) },
        shell: `chmod ${mode} "$out"`,
      }
    },
  },
  {
    name: 'remove-source',
    on: 'source',
    draw: ({ inputs, others }, random) => ({
      say: `${random.pick([
        'When the result is written, delete the input, with the folder it may be in; nothing of it may stay behind.',
        'The input is not needed any more afterwards: remove it (and its own folder, if it has one).',
      ])}${staying(others.read)}`,
      after: Object.fromEntries(inputs.map((path) => [path, null])),
      shell: `rm -r -- '${inputs[0]?.split('/')[0]}'`,
    }),
  },
  {
    name: 'nothing-else',
    on: 'rest',
    draw: ({ others }, random) => ({
      say: random.pick([
        'Leave no other file or folder behind in the work folder.',
        'Apart from what is asked for here, the work folder must look as before: no scripts, no temporary files.',
        `Clean up after yourself: whatever you create besides ${others.made ? 'what is asked for here' : 'the result'} has to go again.`,
      ]),
      closed: true,
    }),
  },
]

/** Other files that a step reads are not part of the input. */
function staying(paths: readonly string[]): string {
  return paths.length === 0 ? '' : ` Leave ${paths.map((path) => `\`${path}\``).join(' and ')} in place.`
}

function base(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function splitEnding(path: string): [string, string] {
  const dot = path.lastIndexOf('.')
  return [path.slice(0, dot), path.slice(dot)]
}

/** Rewrites the records in batches. */
function splitShell(stem: string, ending: string, size: number): string {
  return `rm "$out"
records > "$work/all.tsv"
part=1
while [ -s "$work/all.tsv" ]; do
  sed -n '1,${size}p' "$work/all.tsv" | present > "${stem}-$part${ending}"
  sed -i '1,${size}d' "$work/all.tsv"
  part=$((part + 1))
done`
}
