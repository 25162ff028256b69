import { stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { benchmarkTasksHere } from '../../app/datasets/benchmark-tasks.ts'
import { findPacks } from '../../formats/benchmark/find-packs.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { packEnding, readPackHeader } from '../../formats/benchmark/pack-file.ts'
import { type KnownBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { printJson, printTable } from '../output.ts'

/** `ot-agent benchmarks list`: what is known, and which packs are here. */
export default () =>
  new Command()
    .description(
      'Lists the benchmarks that there is a file for: how many tasks each has, whether its decontamination pack is here, where its tasks\n' +
        'are on this machine or that they must be fetched, and where from. Files of your own go into ./benchmarks.',
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json }) => {
      const all = await loadBenchmarks()
      const rows = await Promise.all(
        all.map(async (known) => ({ ...(await withPack(known)), tasksIn: await placeOf(known, all) })),
      )
      if (json) return printJson({ schema: 'benchmarks/1', benchmarks: rows })
      printTable(
        ['benchmark', 'tasks', 'pack', 'tasks in', 'tasks from', 'what it is'],
        rows.map((row) => [
          ...[row.name, String(row.tasks), packCell(row), row.tasksIn ?? 'not fetched', sourceCell(row)],
          row.title,
        ]),
      )
    })

/** The folder with its tasks, relative where it is below the working directory; null when they must be fetched. */
async function placeOf(known: KnownBenchmark, all: readonly KnownBenchmark[]): Promise<string | null> {
  const here = await benchmarkTasksHere(known, all)
  if (here === null) return null
  const below = relative(process.cwd(), resolve(here.dir))
  return below.startsWith('..') ? resolve(here.dir) : below
}

/** A pack in numbers; null when there is none. */
interface PackFacts {
  readonly file: string
  readonly benchmark: string
  readonly tasks: number | null
  readonly words: number | null
  readonly bytes: number
}

async function withPack(known: KnownBenchmark): Promise<KnownBenchmark & { pack: PackFacts | null }> {
  const { found } = await findPacks({ benchmarks: [known.name] })
  const [pack] = found
  if (!pack) return { ...known, pack: null }
  const header = pack.file.endsWith(packEnding) ? await readPackHeader(pack.file) : null
  const { size: bytes } = await stat(pack.file)
  const facts = {
    file: pack.file,
    benchmark: pack.benchmark,
    tasks: header?.tasks ?? null,
    words: header?.words ?? null,
    bytes,
  }
  return { ...known, pack: facts }
}

function packCell({ name, pack, tasks }: KnownBenchmark & { pack: PackFacts | null }): string {
  if (pack === null) return 'missing'
  if (pack.benchmark !== name) return `in ${pack.benchmark}`
  return pack.tasks === null || pack.tasks === tasks ? 'here' : `here, ${pack.tasks} tasks`
}

function sourceCell({ sources, texts }: KnownBenchmark): string {
  const [best] = [...sources, ...texts]
  return best === undefined ? '' : renderSource(best)
}
