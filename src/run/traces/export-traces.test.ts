import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { agentRecord, storeJob } from '../../../test/traces.ts'
import { type ExportAsk, exportTraces } from './export-traces.ts'
import { findInputs } from './find-inputs.ts'

let dir: string
beforeEach(async () => {
  dir = await makeTempDir()
  const names = Array.from({ length: 20 }, (_, i) => `hello__${String(i).padStart(7, '0')}`)
  await storeJob(
    join(dir, 'job'),
    names.map((name) => ({ record: agentRecord({ name }), files: 'plain' })),
  )
})

/** An export whose rows are the names of trials. */
async function ask(over: Partial<ExportAsk<string, string>> = {}) {
  const rows: string[] = []
  const abandoned: boolean[] = []
  const done = exportTraces<string, string>({
    found: await findInputs([join(dir, 'job')], false),
    out: join(dir, 'out/deep'),
    overwrite: false,
    maker: {
      refuse: () => null,
      limitOf: () => null,
      make: ({ record }) => [{ row: record.name }],
    },
    openSink: () => ({
      add: async (row) => void rows.push(row),
      finish: async () => ['file'],
      abandon: async () => void abandoned.push(true),
    }),
    describe: () => ({ 'manifest.json': '{"schema": "traces/1"}' }),
    signal: new AbortController().signal,
    ...over,
  })
  return { done: await done, rows, abandoned }
}

test('every trial is offered once and counted', async () => {
  const { done, rows } = await ask()
  expect(new Set(rows).size).toBe(20)
  expect(done).toMatchObject({ files: ['file'], counts: { trials: 20, exported: 20, rows: 20, drops: {} } })
  expect((await readdir(join(dir, 'out/deep'))).sort()).toEqual(['drops.jsonl', 'manifest.json'])
})

test('an interrupted export leaves nothing, not even parent directories', async () => {
  const controller = new AbortController()
  let seen = 0
  const interrupted = ask({
    signal: controller.signal,
    onProgress: () => {
      if (++seen === 3) controller.abort()
    },
  })
  await expect(interrupted).rejects.toMatchObject({ name: 'AbortError' })
  expect(seen).toBeLessThan(20)
  expect(await readdir(dir)).toEqual(['job'])
})

test('an earlier export stays as it is when the next one fails', async () => {
  await ask()
  const broken = ask({
    overwrite: true,
    openSink: () => ({
      add: () => Promise.reject(new Error('no room')),
      finish: async () => [],
      abandon: async () => {},
    }),
  })
  await expect(broken).rejects.toThrow('no room')
  expect((await readdir(join(dir, 'out/deep'))).sort()).toEqual(['drops.jsonl', 'manifest.json'])
  expect(await readdir(join(dir, 'out'))).toEqual(['deep'])
})

test.each([false, true])(
  'the current directory is not replaced when --out is an empty text (overwrite: %s)',
  async (overwrite) => {
    await writeFile(join(dir, 'precious'), 'mine')
    const { cwd } = process
    process.cwd = () => dir
    onTestFinished(() => {
      process.cwd = cwd
    })
    await expect(ask({ out: '', overwrite })).rejects.toMatchObject({ name: 'UserError' })
    expect((await readdir(dir)).sort()).toEqual(['job', 'precious'])
  },
)

test('a directory that replaced an earlier export during the next one stays', async () => {
  await ask()
  const out = join(dir, 'out/deep')
  const replaced = ask({
    overwrite: true,
    describe: () => {
      rmSync(out, { recursive: true })
      mkdirSync(out)
      writeFileSync(join(out, 'precious'), 'mine')
      return {}
    },
  })
  await expect(replaced).rejects.toMatchObject({ name: 'UserError' })
  expect(await readdir(out)).toEqual(['precious'])
  expect(await readdir(join(dir, 'out'))).toEqual(['deep'])
})

test('an empty directory may be the target with --overwrite only', async () => {
  await mkdir(join(dir, 'out/deep'), { recursive: true })
  await expect(ask()).rejects.toMatchObject({ name: 'UserError' })
  expect((await ask({ overwrite: true })).rows).toHaveLength(20)
})
