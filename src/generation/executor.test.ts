import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { runSpecs, type TaskGenerationSpec } from './executor.ts'

async function place(count: number) {
  const dir = await makeTempDir()
  const specs = Array.from({ length: count }, (_, seed) => ({
    seed,
    outputDir: join(dir, `${seed}`),
    datasetPrefix: 'p',
  }))
  const made: number[] = []
  let running = 0
  let most = 0
  const generate = async (spec: TaskGenerationSpec) => {
    made.push(spec.seed)
    most = Math.max(most, ++running)
    await new Promise((done) => setTimeout(done, 5))
    running--
    if (spec.seed === 1) throw new RangeError('boom')
    const datasetDir = join(spec.outputDir, 'tasks')
    await mkdir(datasetDir, { recursive: true })
    if (spec.seed !== 2) await writeFile(join(datasetDir, 'task'), '')
    return { datasetDir, artifacts: { seed: spec.seed } }
  }
  const summaryFile = join(dir, 'summary.json')
  const run = (signal = new AbortController().signal) =>
    runSpecs(specs, { maxConcurrent: 2, generate, sandboxes: null, signal, summaryFile })
  return { dir, specs, made, run, summaryFile, most: () => most }
}

test('each spec leaves a result or an error, and a summary tells of all', async () => {
  const { dir, run, summaryFile, most } = await place(4)
  const results = await run()
  expect(results.map(({ success, error }) => [success, error])).toEqual([
    [true, null],
    [false, 'boom'],
    [false, expect.stringContaining('empty')],
    [true, null],
  ])
  expect(most()).toBe(2)
  expect(JSON.parse(await readFile(join(dir, '1/error.json'), 'utf8'))).toMatchObject({
    error: 'boom',
    stack: expect.stringContaining('RangeError'),
  })
  expect(JSON.parse(await readFile(join(dir, '0/result.json'), 'utf8'))).toMatchObject({
    success: true,
    artifacts: { seed: 0 },
  })
  expect(JSON.parse(await readFile(summaryFile, 'utf8'))).toMatchObject({ specs: 4, succeeded: 2, failed: 2 })
})

test('a spec with a result is not run again, one with an error is', async () => {
  const { run, made } = await place(4)
  await run()
  made.length = 0
  await run()
  expect(made.sort()).toEqual([1, 2])
})

test('a stop stops all, and two specs never share a folder', async () => {
  const { run, specs } = await place(2)
  await expect(run(AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' })
  const ask = {
    maxConcurrent: 1,
    generate: async () => ({ datasetDir: '/' }),
    sandboxes: null,
    signal: new AbortController().signal,
  }
  await expect(runSpecs([specs[0]!, specs[0]!], ask)).rejects.toMatchObject({ name: 'UserError' })
})
