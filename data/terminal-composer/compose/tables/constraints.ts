import { createHash } from 'node:crypto'
import type { Draws } from 'ot-agent'
import type { Words } from '../wording.ts'
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
  draw(output: Output, random: Draws, words: Words): Bound
}

const sha = (path: string) => `sha256sum ${path}`

/** What may be required of a result besides its content. */
export const constraints: readonly Constraint[] = [
  {
    name: 'crlf-output',
    on: 'form',
    draw: ({ path, text }, random, words) => ({
      say: words.say(
        random.pick([
          'Every line of the result ends with CR LF.',
          'Terminate the lines of the result the Windows way, with CR LF.',
        ]),
        [
          'Use CR LF as the line ending throughout the result.',
          'In the result, each line has to be terminated by CR LF, the last one too.',
          'The result is for Windows: all of its lines end with CR LF, not with LF alone.',
          'Please end all lines of the result with CR LF.',
          'Line endings of the result: CR LF on every line.',
        ],
      ),
      after: { [path]: file(text.replaceAll('\n', '\r\n')) },
      shell: `sed -i 's/$/\\r/' "$out"`,
    }),
  },
  {
    name: 'gzip-output',
    on: 'form',
    draw: ({ path, text }, random, words) => ({
      say: words.say(
        random.pick([
          `Compress the result with gzip: \`${base(path)}.gz\` instead of \`${base(path)}\`, in the same place.`,
          `Leave only the gzipped form of it, \`${base(path)}.gz\`, in that folder; its uncompressed content is what is described above.`,
        ]),
        [
          `Gzip the result: what remains of it in that folder is \`${base(path)}.gz\`, and \`${base(path)}\` itself is not there any more.`,
          `Instead of \`${base(path)}\`, deliver \`${base(path)}.gz\` in the same folder: the same content, compressed with gzip.`,
          `The result is wanted as a gzip file named \`${base(path)}.gz\`, which takes the place of \`${base(path)}\` in the same folder; no uncompressed copy is left there.`,
          `Could you store the result gzip-compressed, as \`${base(path)}.gz\` in the same folder, without keeping \`${base(path)}\`?`,
          `\`${base(path)}.gz\` is what should be found in that folder, not \`${base(path)}\`: run the finished result through gzip.`,
        ],
      ),
      after: { [path]: null, [`${path}.gz`]: { kind: 'some' } },
      probes: [{ command: `[ ! -e "${path}" ] && gzip -dc < "${path}.gz"`, stdout: text }],
      shell: 'gzip -f "$out"',
    }),
  },
  {
    name: 'no-final-newline',
    on: 'form',
    draw: ({ path, text }, random, words) => ({
      say: words.say(
        random.pick([
          'The result must not end with a line feed: its last byte is the last character of the last line.',
          'No line feed after the last line of the result, please.',
        ]),
        [
          'The last byte of the result must not be a line feed but the last character of its last line.',
          'End the result right after the last character of its last line, without a line feed.',
          'The result stops with the last character of its last line; no line feed follows.',
          'There must be no line feed at the end of the result: the file ends with the last character of its last line.',
          'Could the result end without a line feed, please? Its last byte should be the last character of the last line.',
        ],
      ),
      after: { [path]: file(text.replace(/\n+$/, '')) },
      shell: `printf %s "$(cat "$out")" > "$out.new" && mv "$out.new" "$out"`,
    }),
  },
  {
    name: 'split-output',
    on: 'form',
    draw: ({ path, table, shape }, random, words) => {
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
        say: words.say(
          `Do not write one file but several of at most ${size} records each: \`${base(stem)}-1${ending}\`, \`${base(stem)}-2${ending}\` and so on, filled in order${head > 0 ? ', each with its own header' : ''}; \`${base(path)}\` itself must not be there in the end.`,
          [
            `Split the result into files of up to ${size} records, in order: the first ${size} go to \`${base(stem)}-1${ending}\`, the next ${size} to \`${base(stem)}-2${ending}\`, and so on${head > 0 ? '; every file has its own header' : ''}. There must be no \`${base(path)}\` in the end.`,
            `The result must come in several files instead of one: \`${base(stem)}-1${ending}\`, \`${base(stem)}-2${ending}\` and so on, each filled in order with ${size} records (the last one with what remains) before the next begins${head > 0 ? ', and each beginning with its own header' : ''}. \`${base(path)}\` itself must not be left behind.`,
            `At most ${size} records per file, please: number the files \`${base(stem)}-1${ending}\`, \`${base(stem)}-2${ending}\` and so on, put the records into them in order${head > 0 ? ', below a header in each file' : ''}, and fill each one before you start the next. A file \`${base(path)}\` must not exist in the end.`,
            `Instead of \`${base(path)}\`, which must not be there in the end, write numbered files with ${size} records each (the last may have fewer), ${head > 0 ? 'every one with a header of its own, and ' : ''}all records in order: \`${base(stem)}-1${ending}\`, \`${base(stem)}-2${ending}\` and so on.`,
          ],
        ),
        after,
        shell: splitShell(stem, ending, size),
      }
    },
  },
  {
    name: 'checksum-file',
    on: 'beside',
    draw: ({ path, text }, random, words) => ({
      say: words.say(
        random.pick([
          `Beside it, leave \`${base(path)}.sha256\`, as \`sha256sum ${base(path)}\` prints it when called in that folder.`,
          `Also write its checksum to \`${base(path)}.sha256\`, in the format of \`${sha(base(path))}\` run in the folder of the file.`,
        ]),
        [
          `Also leave a checksum: in the folder of the result, run \`${sha(base(path))}\` and save what it prints as \`${base(path)}.sha256\` there.`,
          `\`${base(path)}.sha256\`, in the same folder, has to contain what \`${sha(base(path))}\` prints when it is run there.`,
          `A file \`${base(path)}.sha256\` belongs next to the result, with the line that \`${sha(base(path))}\` gives in that folder.`,
          `Store the SHA-256 checksum of the result beside it in \`${base(path)}.sha256\`, exactly in the form in which \`${sha(base(path))}\` shows it when run in that folder.`,
        ],
      ),
      after: { [`${path}.sha256`]: file(`${createHash('sha256').update(text).digest('hex')}  ${base(path)}\n`) },
      shell: `( cd "$(dirname "$out")" && sha256sum "$(basename "$out")" > "$(basename "$out").sha256" )`,
    }),
  },
  {
    name: 'count-file',
    on: 'beside',
    draw: ({ path, table }, random, words) => ({
      say: words.say(
        random.pick([
          `Write the number of records in the result, as digits and a line feed, to \`${base(path)}.count\` in the same folder.`,
          `Next to it, \`${base(path)}.count\` holds nothing but the number of records of the result and a line feed.`,
        ]),
        [
          `How many records does the result have? Put that number, in digits and followed by a line feed, into \`${base(path)}.count\` next to it.`,
          `Also create \`${base(path)}.count\` in the folder of the result: the number of its records in digits, a line feed, and nothing else.`,
          `Count the records of the result and save the number to \`${base(path)}.count\` beside it, as plain digits with a line feed at the end.`,
          `\`${base(path)}.count\`, in the same folder as the result, has to say how many records there are in it: digits, then a line feed, nothing more.`,
        ],
      ),
      after: { [`${path}.count`]: file(`${table.rows.length}\n`) },
      shell: `records | wc -l | tr -d ' ' > "$out.count"`,
    }),
  },
  {
    name: 'output-mode',
    on: 'mode',
    draw: ({ path, text }, random, words) => {
      const [mode, meaning] = random.pick([
        ['600', 'only its owner may read and write it'],
        ['640', 'its owner may read and write it, its group only read it, others nothing'],
        ['444', 'everyone may read it and nobody may write it'],
        ['400', 'its owner may read it, and that is all'],
      ] as const)
      return {
        say: words.say(
          random.pick([
            `Give the result the mode ${mode}: ${meaning}.`,
            `Permissions of the result: ${meaning} (${mode}).`,
          ]),
          [
            `Set the permissions of the result to ${mode}, so that ${meaning}.`,
            `The file mode of the result is to be ${mode} (${meaning}).`,
            `Mode ${mode} for the result, please: ${meaning}.`,
            `As for the permissions of the result, ${meaning}; in octal that is ${mode}.`,
            `Once the result is written, its mode must be ${mode}, which means that ${meaning}.`,
          ],
        ),
        after: { [path]: file(text, mode) },
        shell: `chmod ${mode} "$out"`,
      }
    },
  },
  {
    name: 'remove-source',
    on: 'source',
    draw: ({ inputs, others }, random, words) => ({
      say: `${words.say(
        random.pick([
          'When the result is written, delete the input, with the folder it may be in; nothing of it may stay behind.',
          'The input is not needed any more afterwards: remove it (and its own folder, if it has one).',
        ]),
        [
          'Delete the input once the result has been written, all of it, together with its own folder if it has one.',
          'The input has no further use after that: get rid of it completely, and if it lies in a folder of its own, remove that folder too.',
          'No trace of the input may remain when the result is there: remove its file or files, and the folder that holds them if they have one of their own.',
          'The last thing to do is to delete the whole input, including its own folder, should there be one.',
          'In the end the input must be gone, and with it its own folder where there is one; write the result first.',
        ],
      )}${staying(others.read, words)}`,
      after: Object.fromEntries(inputs.map((path) => [path, null])),
      shell: `rm -r -- '${inputs[0]?.split('/')[0]}'`,
    }),
  },
  {
    name: 'nothing-else',
    on: 'rest',
    draw: ({ others }, random, words) => ({
      say: words.say(
        random.pick([
          'Leave no other file or folder behind in the work folder.',
          'Apart from what is asked for here, the work folder must look as before: no scripts, no temporary files.',
          `Clean up after yourself: whatever you create besides ${others.made ? 'what is asked for here' : 'the result'} has to go again.`,
        ]),
        [
          'In the end, the work folder must not contain anything that was neither there before nor asked for here.',
          'Nothing new may be left in the work folder except what is asked for here, so delete scripts and temporary files that you made there.',
          'Remove every helper file, script or folder that you created in the work folder and that is not asked for here.',
          'When you are done, nothing may have been added to the work folder beyond what is asked for here.',
          'Keep the work folder clean: apart from what is asked for here, it ends up with the same files and folders as at the start.',
        ],
      ),
      closed: true,
    }),
  },
]

/** Other files that a step reads are not part of the input. */
function staying(paths: readonly string[], words: Words): string {
  if (paths.length === 0) return ''
  const list = paths.map((path) => `\`${path}\``).join(' and ')
  const [stay, there] = paths.length === 1 ? ['stays', 'it is'] : ['stay', 'they are']
  return words.say(` Leave ${list} in place.`, [
    ` Do not remove ${list}.`,
    ` Keep ${list} where ${there}.`,
    ` ${list} ${stay} where ${there}.`,
    ` The input does not include ${list}, which must remain in place.`,
  ])
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
