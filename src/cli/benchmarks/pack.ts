import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { firstReachable, placesOf } from '../../app/datasets/places.ts'
import { explainDisk } from '../../app/disk-errors.ts'
import type { Benchmark } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { parseBenchmarkYaml } from '../../formats/benchmark/benchmark-yaml.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { makePack } from '../../formats/benchmark/pack.ts'
import { packEnding, readPackHeader, renderPack } from '../../formats/benchmark/pack-file.ts'
import { chooseBenchmark, findBenchmark, loadBenchmarks, ownBenchmarks } from '../../formats/known-benchmarks.ts'
import { isMissing, kindAt, writeAtomic } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { textsAt } from './sources.ts'

/** `ot-agent benchmarks pack`: the texts of a benchmark become hashes that recipes keep away from. */
export default () =>
  new Command()
    .description(
      'Builds the decontamination pack of a benchmark: hashes of every run of words of its tasks, never the text itself.\n' +
        'Recipes find it as benchmarks/NAME.pack. The same tasks give the same bytes.',
    )
    .argument('<benchmark>', 'a name that benchmarks list knows, a new name, or a .yaml file that describes one')
    .option(
      '--from <source>',
      'a folder of tasks, a .parquet, .jsonl, .json or .csv file, hf:org/name[@revision], harbor:name[@version] or git:URL[#path] (default: what the benchmark names)',
    )
    .option('-o, --out <file>', `file to write (default: ${ownBenchmarks}/NAME${packEnding})`)
    .option('--words <n>', 'words of a run; what shares fewer in a row is not found', runLength)
    .option('--id-column <name>', 'column of rows that names a task (default: id, task_id, instance_id, ...)')
    .option('--text-column <name>', 'column of rows with the text (default: instruction, problem_statement, ...)')
    .option('--files <pattern...>', 'only these files of a folder, for example data/*.jsonl')
    .option('--registry <registry>', 'registry.json for harbor: sources, a file or an address')
    .option('--source <text>', 'what the pack says of where its tasks came from (default: the source, without folders)')
    .option('--json', 'print the result as JSON')
    .action(async (asked, options) => {
      const benchmark = await describe(asked, options.from !== undefined)
      const { name, title, licence } = benchmark
      const out = options.out ?? join(ownBenchmarks, `${name}${packEnding}`)
      await refuseOther(out, name)
      const interrupt = interruptSignal()
      try {
        const places = placesOf([...benchmark.texts, ...benchmark.sources], options)
        const { texts, place } = await firstReachable(places, { name, instead, notify: note }, async (place) => ({
          ...{ texts: await textsAt(place, interrupt.signal), place },
        }))
        const pack = makePack(name, texts, options.words ?? benchmark.decontamination.words)
        const source = options.source ?? (place.kind === 'path' ? basename(place.name) : renderSource(place))
        const bytes = renderPack(pack, { title, licence, source })
        await explainDisk(out, () => writeAtomic(out, bytes))
        if (texts.length !== benchmark.tasks && benchmark.tasks > 0)
          note(`${name} has ${benchmark.tasks} tasks, and ${texts.length} were found`)
        report(
          {
            benchmark: name,
            file: out,
            tasks: texts.length,
            words: pack.words,
            runs: pack.keys.length,
            bytes: bytes.length,
          },
          options.json,
        )
      } finally {
        interrupt.stop()
      }
    })

const instead = 'give tasks that are on this machine: --from DIR, or a file of rows'

type Described = Pick<Benchmark, 'name' | 'title' | 'licence' | 'texts' | 'sources' | 'tasks' | 'decontamination'>

/** What is known of a benchmark. A name that is not known is fine with tasks at hand, unless it looks like a slip. */
async function describe(asked: string, hasTasks: boolean): Promise<Described> {
  if (/\.ya?ml$/.test(asked)) return parseBenchmarkYaml(await readDescription(asked), asked)
  const all = await loadBenchmarks()
  const names = all.flatMap(({ name, aliases }) => [name, ...aliases])
  if (findBenchmark(all, asked) || !hasTasks || nearest(asked, names) !== null) return chooseBenchmark(all, asked)
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(asked))
    throw new UserError(
      `expected a name of lower-case letters, digits, dots and dashes, got ${JSON.stringify(asked.slice(0, 100))}`,
      'ot-agent benchmarks list names those that are known',
    )
  return {
    ...{ name: asked, title: asked, licence: 'not said', texts: [], sources: [], tasks: 0 },
    decontamination: { words: 8 },
  }
}

async function readDescription(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${file}: expected a file that describes a benchmark, found nothing there`, 'check the path')
  }
}

async function refuseOther(out: string, name: string): Promise<void> {
  if ((await kindAt(out)) === 'none') return
  const { benchmark } = await readPackHeader(out).catch((error: unknown) => {
    if (error instanceof UserError)
      throw new UserError(
        `${out}: expected a free path or an earlier pack, found something else`,
        'choose another --out',
      )
    throw error
  })
  if (benchmark !== name)
    throw new UserError(
      `${out}: expected an earlier pack of ${name}, found one of ${benchmark}`,
      'choose another --out',
    )
}

function runLength(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 8 || value > 50)
    throw new InvalidArgumentError(
      `expected 8 to 50 words, since shorter runs can be guessed; got ${JSON.stringify(text)}`,
    )
  return value
}

interface Packed {
  readonly benchmark: string
  readonly file: string
  readonly tasks: number
  readonly words: number
  readonly runs: number
  readonly bytes: number
}

function report(packed: Packed, json: boolean | undefined): void {
  const { benchmark, file, tasks, words, runs, bytes } = packed
  if (json) printJson({ schema: 'benchmark-packed/1', ...packed })
  else
    process.stdout.write(
      `packed ${tasks} tasks of ${benchmark}: ${runs} runs of ${words} words, ${megabytes(bytes)}: ${file}\n`,
    )
}
