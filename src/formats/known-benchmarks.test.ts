import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../test/make-task.ts'
import { registry } from '../plugins/table.ts'
import { parseBenchmarkYaml } from './benchmark/benchmark-yaml.ts'
import { findPacks } from './benchmark/find-packs.ts'
import { loadPack, packEnding } from './benchmark/pack-file.ts'
import { chooseBenchmark, loadBenchmarks, shippedBenchmarks } from './known-benchmarks.ts'

const all = await loadBenchmarks()
const packs = readdirSync(shippedBenchmarks).filter((name) => name.endsWith(packEnding))

test('packs of seven benchmarks come with the package, small and whole, with as many tasks as the benchmark has', async () => {
  const found = await Promise.all(packs.map((name) => loadPack(join(shippedBenchmarks, name))))
  expect(found.map(({ header }) => [header.benchmark, header.tasks])).toEqual([
    ['aider-polyglot', 225],
    ['bfcl', 4696],
    ['financeagent', 50],
    ['medagentbench', 300],
    ['swe-bench-verified', 500],
    ['terminal-bench-2', 89],
    ['terminal-bench-core', 80],
  ])
  for (const [i, { header, pack }] of found.entries()) {
    const known = chooseBenchmark(all, header.benchmark)
    expect([`${known.name}${packEnding}`, known.tasks, known.title, known.licence]).toEqual([
      packs[i],
      header.tasks,
      header.title,
      header.licence,
    ])
    expect(pack.words).toBe(8)
    expect(pack.keys.length).toBeGreaterThan(pack.tasks.length)
  }
  const bytes = packs.reduce((sum, name) => sum + statSync(join(shippedBenchmarks, name)).size, 0)
  expect(bytes).toBeLessThan(3e6)
  expect(JSON.parse(readFileSync('package.json', 'utf8')).files).toContain('benchmarks')
})

test('every benchmark that decontamination compares with has a file, and those without a pack say why', async () => {
  const { default: filter } = await (registry.stages['filters/tasks/decontaminated'] ?? expect.fail())()
  const { benchmarks } = filter.options.parse({}) as { benchmarks: string[] }
  const { found, missing } = await findPacks({ benchmarks, cwd: await makeTempDir() })
  expect(missing.map(({ benchmark, command }) => [benchmark, command])).toEqual([
    ['gaia', 'ot-agent benchmarks pack gaia'],
    ['openthoughts-tblite', 'ot-agent benchmarks pack openthoughts-tblite'],
  ])
  expect(missing.every(({ why }) => why !== undefined)).toBe(true)
  expect(found.find(({ asked }) => asked === 'swe-bench-verified-100')?.benchmark).toBe('swe-bench-verified')
  expect(benchmarks.map((name) => chooseBenchmark(all, name).name)).toEqual(benchmarks)
})

test('no two benchmarks share a name or an alias, and each says where its tasks come from', () => {
  const names = all.flatMap(({ name, aliases }) => [name, ...aliases])
  expect(new Set(names).size).toBe(names.length)
  for (const { sources, homepage, citation, licence } of all) {
    expect(sources.length).toBeGreaterThan(0)
    expect(licence).not.toBe('not said')
    expect([homepage?.startsWith('https://'), (citation ?? '').length > 10]).toEqual([true, true])
  }
})

test('a name that is not known suggests the closest, an alias is a name', () => {
  expect(chooseBenchmark(all, 'tb2').name).toBe('terminal-bench-2')
  expect(() => chooseBenchmark(all, 'swe-bench-verfied')).toThrow('unknown benchmark "swe-bench-verfied"')
  try {
    chooseBenchmark(all, 'medagentbnch')
  } catch (error) {
    expect(error).toMatchObject({ hint: 'did you mean medagentbench?' })
  }
})

const valid = readFileSync(join(shippedBenchmarks, 'gaia.yaml'), 'utf8')

test.each([
  ['an unknown key', `${valid}agents: x\n`, /agents is not a known key/],
  ['an unknown key of a part', valid.replace('attempts: 3', 'attempt: 3'), /run\.attempt is not a known key/],
  ['a missing key', valid.replace(/^title:.*$/m, ''), /title/],
  ['a source that is none', valid.replace('harbor: gaia@1.0', 'registry: x'), /hub, harbor, git or path/],
  ['a name with a slash', valid.replace('name: gaia', 'name: a/gaia'), /lower-case letters/],
  ['too few words', valid.replace('decontamination: {', 'decontamination: { words: 3,'), /words/],
  ['no YAML', 'name: [', /expected YAML/],
])('%s in a file of a benchmark is refused', (_, text, message) => {
  expect(() => parseBenchmarkYaml(text, 'gaia.yaml')).toThrow(message)
})

test('files of the working directory come before those of the package', async () => {
  const cwd = await makeTempDir()
  await writeTree(cwd, { 'benchmarks/gaia.yaml': valid.replace('tasks: 165', 'tasks: 7') })
  expect(chooseBenchmark(await loadBenchmarks(cwd), 'gaia').tasks).toBe(7)
  await writeTree(cwd, { 'benchmarks/other.yaml': valid })
  await expect(loadBenchmarks(cwd)).rejects.toThrow(/expected the benchmark other, found gaia/)
})

test('the file that the guide shows is a valid one', () => {
  const shown = readFileSync('docs/guides/benchmark.md', 'utf8')
    .split('```yaml\n')
    .find((part) => part.startsWith('schema: benchmark/1'))
  const { sources, texts } = parseBenchmarkYaml(shown?.split('```')[0] ?? '', 'guide.yaml')
  expect([...sources, ...texts].map(({ kind }) => kind)).toEqual(['harbor', 'hub', 'git', 'path', 'hub'])
})

test('SWE-bench Verified 100 has of each project its share by the largest remainder', () => {
  const { partOf, tasks } = chooseBenchmark(all, 'swe-bench-verified-100')
  expect([partOf?.benchmark, tasks, new Set(partOf?.names).size]).toEqual(['swe-bench-verified', 100, 100])
  // How many of the 500 tasks belong to each project.
  const projects = {
    ...{ astropy: 22, django: 231, matplotlib: 34, seaborn: 2, flask: 1, requests: 8, xarray: 22, pylint: 10 },
    ...{ pytest: 19, 'scikit-learn': 32, sphinx: 44, sympy: 75 },
  }
  const shares = Object.entries(projects).map(([project, size]) => ({
    exact: size / 5,
    found: partOf?.names.filter((name) => new RegExp(`__${project}-\\d+$`).test(name)).length ?? 0,
  }))
  expect(shares.reduce((sum, { found }) => sum + found, 0)).toBe(100)
  expect(shares.every(({ exact, found }) => Math.abs(found - exact) < 1)).toBe(true)
  const remainder = ({ exact }: { exact: number }) => exact - Math.floor(exact)
  const up = shares.filter(({ exact, found }) => found > exact).map(remainder)
  const down = shares.filter(({ exact, found }) => found < exact).map(remainder)
  // Three projects have the remainder 0.4; one of them is rounded up.
  expect(Math.min(...up)).toBeGreaterThan(Math.max(...down) - 1e-9)
})

test('a benchmark of your own needs no license, homepage or citation', () => {
  const own = valid.replace(/^(licence|homepage|citation):.*$/gm, '')
  expect(parseBenchmarkYaml(own, 'own.yaml')).toMatchObject({ name: 'gaia', licence: 'not said' })
})
