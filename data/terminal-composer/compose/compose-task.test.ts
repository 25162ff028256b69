import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskDraft } from '../../../src/core/row.ts'
import { isDropped } from '../../../src/core/stage.ts'
import { makeStage } from '../../../src/plugins/make-stage.ts'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { composeTask, domainNames, environmentDigest, operationNames } from './compose-task.ts'
import compose from './index.ts'
import { tools } from './work.ts'

stageLaws('compose', { make: () => makeStage(compose, { count: 12 }), rows: [] })

const sample = Array.from({ length: 2000 }, (_, index) => composeTask({ seed: 1, index, tools }))

test('2,000 tasks are distinct by name, by instruction and by environment', () => {
  const distinct = (of: (draft: TaskDraft) => string) => new Set(sample.map(of)).size
  expect(distinct(({ name }) => name)).toBe(2000)
  expect(distinct(({ instruction }) => instruction)).toBe(2000)
  expect(distinct(({ files }) => environmentDigest(files))).toBe(2000)
})

test('the sample reaches every domain, every operation and every level', () => {
  const axes = sample.map(({ config }) => (config!.metadata as { axes: Record<string, unknown> }).axes)
  expect(new Set(axes.map(({ domain }) => domain))).toEqual(new Set(domainNames))
  expect(new Set(axes.map(({ operation }) => operation))).toEqual(new Set(operationNames))
  expect(new Set(axes.map(({ level }) => level))).toEqual(new Set(['easy', 'medium', 'hard']))
  expect(domainNames.length).toBeGreaterThanOrEqual(10)
  expect(operationNames.length).toBeGreaterThanOrEqual(40)
})

test('a task depends on its seed and index alone', () => {
  for (const index of [3, 77, 1999]) expect(composeTask({ seed: 1, index, tools })).toEqual(sample[index])
  expect(composeTask({ seed: 2, index: 3 }).instruction).not.toBe(sample[3]?.instruction)
})

test('only what is asked for is drawn', async () => {
  const stage = await makeStage(compose, {
    count: 30,
    first: 5,
    domains: ['sales', 'config'],
    levels: ['hard'],
  })
  const drafts = (await runStage(stage, [])) as TaskDraft[]
  expect(drafts).toHaveLength(30)
  for (const draft of drafts) {
    expect(isDropped(draft)).toBe(false)
    expect(draft.config?.metadata).toMatchObject({
      difficulty: 'hard',
      category: expect.stringMatching(/^(sales|config)$/),
    })
  }
})

test('operations that larger inputs make no harder are labeled easy, and left out when hard tasks are requested', () => {
  const draw = (more: object) => Array.from({ length: 60 }, (_, index) => composeTask({ seed: 3, index, ...more }))
  const place = ({ config }: TaskDraft) => config?.metadata as { difficulty: string; axes: { level: string } }
  const parts = draw({ operations: ['join-parts'] }).map(place)
  expect(new Set(parts.map(({ difficulty }) => difficulty))).toEqual(new Set(['easy']))
  expect(new Set(parts.map(({ axes }) => axes.level))).toEqual(new Set(['easy', 'medium', 'hard']))
  const hard = draw({ domains: ['archives', 'links', 'files'], levels: ['hard'] })
  expect(hard.filter(({ name }) => /join-parts|links-to-copies|remove-copies/.test(name))).toEqual([])
  expect(new Set(hard.map((draft) => place(draft).difficulty))).toEqual(new Set(['hard']))
  expect(draw({ operations: ['join-parts'], levels: ['hard'] }).map(place)[0]).toMatchObject({ difficulty: 'easy' })
})

test('tests look for folders that have to go, which need no separate command to exist', () => {
  for (let index = 0; index < 20; index++) {
    const { files } = composeTask({ seed: 3, index, operations: ['sort-by-ending'] })
    const paths = Object.keys(files).map((path) => /^environment\/files\/(.+)\/[^/]+$/.exec(path)?.[1])
    const expected = String(files['tests/expected.tsv']?.data)
    for (const folder of paths.filter((path) => path !== undefined)) expect(expected).toContain(`none\t-\t${folder}\n`)
    expect(String(files['environment/Dockerfile']?.data)).not.toContain('mkdir')
  }
})

test('operations are left out, and a share of the tasks asks for something else', async () => {
  const without = ['group-sum', 'repair-script']
  const sound = (await runStage(await makeStage(compose, { count: 200, without }), [])) as TaskDraft[]
  const mixed = (await runStage(await makeStage(compose, { count: 200, without, wrong: 0.3 }), [])) as TaskDraft[]
  expect(sound.filter(({ name }) => without.some((operation) => name.includes(`-${operation}-`)))).toEqual([])
  expect(mixed.map(({ name }) => name)).toEqual(sound.map(({ name }) => name))
  const wrong = mixed.filter(({ instruction }, i) => instruction !== sound[i]?.instruction)
  expect(wrong.length).toBeGreaterThan(40)
  expect(wrong.length).toBeLessThan(80)
  for (const { instruction, files } of wrong) {
    const root = /^cd (.+)$/m.exec(String(files['solution/solve.sh']?.data))?.[1]
    expect(instruction).toContain(root)
  }
  // `toEqual` compares byte by byte, which takes seconds here.
  const changed = mixed.filter(({ files }, i) => !isDeepStrictEqual(files, sound[i]?.files))
  expect(changed.map(({ name }) => name)).toEqual([])
})

test('an unknown domain is an error that lists the known ones', async () => {
  await expect(makeStage(compose, { domains: ['cooking'] })).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('domains'),
  })
})

test('a domain that needs a program is left out unless the program is available, and naming it alone is an error', async () => {
  const drafts = (await runStage(await makeStage(compose, { count: 200 }), [])) as TaskDraft[]
  expect(drafts.filter(({ files }) => String(files['environment/Dockerfile']?.data).includes('apt-get'))).toEqual([])
  const some = { count: 3, domains: ['git', 'http'] }
  await expect(makeStage(compose, some)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('git'),
  })
  const more = (await runStage(await makeStage(compose, { ...some, count: 20, tools: ['git'] }), [])) as TaskDraft[]
  const dockerfiles = more.map(({ files }) => String(files['environment/Dockerfile']?.data))
  expect(dockerfiles.filter((text) => text.includes('install -y --no-install-recommends git'))).not.toHaveLength(0)
})

test('the environment holds no expected content, and tests keep digests only', () => {
  for (const { files } of sample) {
    const tests = Object.keys(files).filter((path) => path.startsWith('tests/'))
    for (const path of tests)
      expect(path).toMatch(/^tests\/(test\.sh|expected\.tsv|paths\.txt|probes\.tsv|probes\/\d+\.sh|hidden\/.+)$/)
    expect(String(files['tests/expected.tsv']?.data)).toMatch(/^(file:[0-9a-f]{64}|link:[^\t]*|dir|some|none)\t/)
    expect(Object.keys(files).filter((path) => path.startsWith('environment/') && /solve|expected/.test(path))).toEqual(
      [],
    )
  }
})

test('bash can parse every script', () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-agent-compose-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const names = sample.slice(0, 300).flatMap(({ files }, at) =>
    Object.entries(files)
      .filter(([path]) => path.endsWith('.sh') && !path.startsWith('environment/'))
      .map(([, { data }], nth) => {
        const name = join(dir, `${at}-${nth}.sh`)
        writeFileSync(name, data)
        return name
      }),
  )
  const read = spawnSync('bash', ['-c', 'for f in "$@"; do bash -n "$f" || exit 1; done', 'bash', ...names], {
    encoding: 'utf8',
  })
  expect(read.stderr).toBe('')
})
