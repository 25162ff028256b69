import type { RunForm } from '../../core/new-run.ts'
import { loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { namesIn } from '../../lib/files.ts'
import { registry } from '../../plugins/table.ts'
import type { Library } from './library.ts'

/** How many of the newest jobs are offered for repetition. */
const mostPrevious = 100

/** The initial values of the new-run page: suggested names and earlier jobs. */
export async function runForm(library: Library): Promise<RunForm> {
  const { rows } = await library.jobs()
  const newest = rows.toSorted((a, b) => (b.startedAt ?? '').localeCompare(a.startedAt ?? ''))
  const recipes = (await namesIn('recipes')).filter((name) => /\.(ts|js|mjs|json|ya?ml)$/.test(name))
  return {
    dir: process.cwd(),
    jobsDirs: library.jobsDirs,
    known: {
      agents: Object.keys(registry.agents),
      engines: Object.keys(registry.engines),
      sandboxes: Object.keys(registry.sandboxes),
      benchmarks: (await loadBenchmarks()).map(({ name }) => name),
      recipes: recipes.toSorted().map((name) => `recipes/${name}`),
    },
    previous: newest.slice(0, mostPrevious).map(({ id }) => id),
  }
}
