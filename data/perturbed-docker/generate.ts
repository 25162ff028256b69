import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { definePipeline, UserError, z } from 'ot-agent'
import environment from './environment/index.ts'
import { parsePackageIndex } from './environment/search-packages.ts'

/** Tasks whose environments are perturbed, found, written, or put together from packages. */
export default definePipeline({
  name: 'perturbed-docker',
  summary: 'Small tasks in environments that were made harder, each proven to be solvable still',
  options: z.strictObject({
    strategy: z
      .enum(['as-given', 'packages', 'search', 'model', 'agent', 'perturb'])
      .default('perturb')
      .describe('how the environment is made'),
    repairs: z.number().int().min(0).max(20).default(3).describe('rounds in which agent may repair what fails'),
    variants: z.number().int().min(1).max(20).default(2).describe('tasks of a row with perturb'),
    packageIndex: z
      .string()
      .default('')
      .describe('index of Debian packages to search with packages, as apt-cache dumpavail prints it'),
    published: z.string().default('').describe('JSON lines of published Dockerfiles, for search'),
  }),
  source: { fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } }, real: null },
  needsModel: ({ strategy }) => strategy === 'model' || strategy === 'agent',
  make: {
    use: environment,
    with: ({ options: { strategy, repairs, variants, published, packageIndex }, dir }) => ({
      pipeline: 'perturbed-docker',
      strategy,
      repairs,
      root: dir,
      variants,
      packages: packageIndex === '' ? [] : readIndex(resolve(packageIndex)),
      published: published === '' ? [] : readLines(resolve(published)),
    }),
  },
})

function readIndex(path: string): ReturnType<typeof parsePackageIndex> {
  const [text, why] = textOf(path)
  const packages = parsePackageIndex(text)
  if (packages.length > 0) return packages
  throw new UserError(
    `--package-index ${path}: expected an index of Debian packages with programs in it, got ${why ?? 'none'}`,
    'apt-cache dumpavail > FILE',
  )
}

function textOf(path: string): [text: string, why: string | null] {
  try {
    return [readFileSync(path, 'utf8'), null]
  } catch (error) {
    return ['', String(error)]
  }
}

function readLines(path: string): unknown[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line))
  } catch (error) {
    throw new UserError(`--published ${path}: expected JSON lines, got ${String(error)}`, 'one JSON object a line')
  }
}
