import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { TaskDraft } from '../../core/row.ts'
import { parseLineage, renderDraftToml, safeTaskName, saveTaskDraft } from './draft.ts'
import { loadTask } from './load.ts'
import { parseTaskToml } from './parse.ts'

const draft: TaskDraft = {
  name: 'nl2bash-0001',
  instruction: 'Count the files.',
  files: {
    'tests/test.sh': { data: '#!/bin/sh\necho 0 > /logs/verifier/reward.txt\n' },
    'solution/solve.sh': { data: '#!/bin/sh\n' },
    'tests/run': { data: 'x', executable: true },
    'environment/data.bin': { data: Uint8Array.of(0, 255) },
  },
  config: { agent: { timeout_sec: 60 }, metadata: { tags: ['files'] } },
  lineage: { pipeline: 'nl2bash', strategy: 'row-template', rowId: '7', rowDigest: 'ab'.repeat(32), seed: 42 },
}

test('a draft becomes a task that loads, with defaults, scripts that run and its lineage', async () => {
  const dir = await saveTaskDraft(draft, await makeTempDir())
  const task = await loadTask(dir)
  expect(task).toMatchObject({
    name: 'nl2bash-0001',
    instruction: 'Count the files.\n',
    agent: { timeoutSec: 60 },
    verifier: { timeoutSec: 720 },
    environment: { cpus: 1, memoryMb: 2048 },
    metadata: { difficulty: 'medium', tags: ['files'] },
  })
  expect(parseLineage(task.metadata)).toEqual(draft.lineage)
  expect((await readdir(join(dir, 'environment'))).sort()).toEqual(['Dockerfile', 'data.bin'])
  for (const [path, mode] of Object.entries({ 'tests/test.sh': 0o755, 'solution/solve.sh': 0o755, 'tests/run': 0o755 }))
    expect((await stat(join(dir, path))).mode & 0o777).toBe(mode)
})

test('an own Dockerfile, compose file or image is kept and no default is added', async () => {
  const parent = await makeTempDir()
  const own = { ...draft.files, 'environment/Dockerfile': { data: 'FROM alpine\n' } }
  await saveTaskDraft({ ...draft, name: 'own', files: own }, parent)
  expect((await loadTask(join(parent, 'own'))).environment.dockerImage).toBeUndefined()
  const files = { 'tests/test.sh': { data: '' } }
  await saveTaskDraft({ ...draft, name: 'image', files, config: { environment: { docker_image: 'a/b' } } }, parent)
  expect(await readdir(join(parent, 'image'))).not.toContain('environment')
})

test.each(['../x', '/etc/x', 'a/../../x', 'a//b', './a', 'a\\b', 'a\0b', '', 'task.toml', 'instruction.md'])(
  'the path %j is refused and nothing is written',
  async (path) => {
    const parent = await makeTempDir()
    const saving = saveTaskDraft({ ...draft, files: { [path]: { data: '' } } }, parent)
    await expect(saving).rejects.toMatchObject({ name: 'UserError', message: expect.stringContaining('nl2bash-0001') })
    expect(await readdir(parent)).toEqual([])
  },
)

test('two files that cannot both be there leave nothing behind', async () => {
  const parent = await makeTempDir()
  const files = { 'tests/a': { data: '' }, 'tests/a/b': { data: '' } }
  await expect(saveTaskDraft({ ...draft, files }, parent)).rejects.toMatchObject({ name: 'UserError' })
  expect(await readdir(parent)).toEqual([])
})

test('an empty instruction and a wrong setting are refused by name', async () => {
  await expect(saveTaskDraft({ ...draft, instruction: ' \n' }, '/nonexistent')).rejects.toThrow(/instruction/)
  const config = { agent: { timeout_sec: 'long' } }
  expect(() => renderDraftToml({ ...draft, config })).toThrow(/nl2bash-0001.*agent.timeout_sec: expected a number/)
})

test('an existing task is not overwritten', async () => {
  const parent = await makeTempDir()
  await saveTaskDraft(draft, parent)
  await expect(saveTaskDraft(draft, parent)).rejects.toMatchObject({ name: 'UserError' })
})

test('every name becomes the name of one directory, and different names stay different', () => {
  expect(safeTaskName('nl2bash-0001')).toBe('nl2bash-0001')
  expect(safeTaskName('../../etc')).toMatch(/^etc-[0-9a-f]{8}$/)
  expect(safeTaskName(`a${'.'.repeat(1 << 18)}b`)).toMatch(/^a-[0-9a-f]{8}$/)
  expect(safeTaskName('…')).toMatch(/^task-|^[A-Za-z]/)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const safe = safeTaskName(a)
      expect(safe).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$/)
      expect(basename(safe)).toBe(safe)
      if (a !== b) expect(safeTaskName(b)).not.toBe(safe)
    }),
  )
})

test('any lineage comes back from task.toml as it went in', () => {
  const text = fc.string({ unit: 'grapheme' })
  const lineage = fc.record(
    {
      pipeline: text,
      strategy: text,
      rowId: text,
      rowDigest: text,
      seed: fc.integer(),
      promptDigest: text,
      model: text,
      parents: fc.array(text),
    },
    { requiredKeys: ['pipeline', 'strategy', 'rowId', 'rowDigest', 'seed'] },
  )
  fc.assert(
    fc.property(lineage, (given) => {
      const toml = renderDraftToml({ ...draft, lineage: given })
      expect(parseLineage(parseTaskToml(toml, 'x').metadata)).toEqual(given)
    }),
  )
})
