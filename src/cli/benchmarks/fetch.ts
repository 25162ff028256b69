import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { fetchTasks } from '../../app/datasets/fetch-tasks.ts'
import { firstReachable, placesOf } from '../../app/datasets/places.ts'
import { UserError } from '../../core/errors.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { countTaskFolders } from '../../formats/benchmark/read-texts.ts'
import { chooseBenchmark, findBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { kindAt } from '../../lib/files.ts'
import { AlreadyThere } from '../../lib/new-dir.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent benchmarks fetch`: the tasks of a benchmark become a folder. */
export default () =>
  new Command()
    .description(
      'Fetches the tasks of a benchmark into a folder that appears whole or not at all, from the first place its file names that can be\n' +
        'reached. Exits with 3 when none can. Never train on what it fetches.',
    )
    .argument('<benchmark>', 'a name that benchmarks list knows')
    .option('-o, --out <dir>', 'folder to make (default: the name of the benchmark)')
    .option('--from <source>', 'another place: hf:org/name[@revision], harbor:name[@version] or git:URL[#path]')
    .option('--registry <registry>', 'registry.json for harbor: sources, a file or an address')
    .option('--json', 'print the result as JSON')
    .action(async (asked, options) => {
      const all = await loadBenchmarks()
      const benchmark = chooseBenchmark(all, asked)
      const { name, partOf } = benchmark
      const out = options.out ?? benchmark.name
      if ((await kindAt(out)) !== 'none') throw taken(out)
      const interrupt = interruptSignal()
      const { signal } = interrupt
      try {
        const whole = partOf && findBenchmark(all, partOf.benchmark)
        const ofWhole = placesOf(options.from === undefined ? (whole?.sources ?? []) : [], {
          registry: options.registry,
        })
        const places = [...placesOf([...benchmark.sources, ...benchmark.texts], options), ...ofWhole]
        const place = await firstReachable(places, { name, instead, notify: note }, async (place) => {
          const names = partOf && ofWhole.includes(place) ? partOf.names : null
          await fetchTasks(place, out, { env: process.env, signal }, names)
          return place
        }).catch((error: unknown) => {
          throw error instanceof AlreadyThere ? taken(out) : error
        })
        const tasks = await countTaskFolders(out)
        const files = tasks > 0 ? 0 : (await readdir(out)).length
        if (tasks > 0 && tasks !== benchmark.tasks)
          note(`${benchmark.name} has ${benchmark.tasks} tasks, and ${tasks} were found`)
        if (options.json)
          return printJson({
            schema: 'benchmark-fetched/1',
            benchmark: benchmark.name,
            from: renderSource(place),
            dir: resolve(out),
            tasks,
            files,
          })
        const what = tasks > 0 ? `${tasks} tasks` : `${files} files of rows, which no agent can run,`
        process.stdout.write(`fetched ${what} of ${benchmark.name} from ${renderSource(place)}: ${out}\n`)
      } finally {
        interrupt.stop()
      }
    })

const instead =
  'run it where the network is and copy the folder, or name another place: --from hf:org/name, harbor:name or git:URL'

function taken(out: string): UserError {
  return new UserError(`${out}: expected a path that is free, found something there`, 'name another folder with --out')
}
