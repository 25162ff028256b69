import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeTempDir } from '../../../test/make-task.ts'
import { parseOwnOptions } from '../../app/generate/own-options.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { RawRow } from '../../core/row.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeStage } from '../../plugins/make-stage.ts'
import { openTaskSet } from '../../store/task-set.ts'
import { type Arguments, DataGenerator, gpuRequired, pipelineOfClass } from './data-generator.ts'
import { asksModel, definePipeline, type NewDraft, type Pipeline } from './pipeline.ts'
import type { GenerationContext, GenerationRequest } from './request.ts'
import { type RunnablePipeline, runGeneration } from './run-generation.ts'
import { makeTasks, type Proof } from './task-stages.ts'

const script = '#!/bin/sh\ngrep -qx done /app/x && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n'
const files = { 'tests/test.sh': { data: script } }

const pipeline = (more: Partial<Pipeline> = {}) =>
  definePipeline({
    name: 'words',
    summary: 'One task a word',
    source: { fixture: { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } }, real: null },
    make: ({ fields }) => ({ instruction: `Write ${fields.word}.`, files }),
    ...more,
  })

const words = ['one', 'two', 'three', 'four', 'five']

interface Asked {
  readonly limit?: number | null
  readonly seed?: number
  readonly out?: string
  readonly version?: string
  readonly prove?: (name: string) => Proof
  readonly stage?: GenerationRequest['stage']
  readonly targetRepo?: string
}

const accepted: Proof = { verdict: 'accepted', reason: '', detail: '' }

const declared = (pipeline: Pipeline): RunnablePipeline => ({ pipeline, hooks: null })
const ofClass = (hooks: DataGenerator): RunnablePipeline => ({ pipeline: pipelineOfClass(hooks), hooks })

async function generate(runnable: RunnablePipeline, asked: Asked = {}) {
  const dir = await makeTempDir()
  await writeFile(
    join(dir, 'rows.jsonl'),
    words.map((word, id) => `${JSON.stringify({ id: `${id}`, word })}\n`).join(''),
  )
  const out = asked.out ?? join(dir, 'out')
  const { seed = 1, limit = null, version = 'v1', stage = 'tasks', targetRepo = null } = asked
  const set = await openTaskSet(out, { pipeline: runnable.pipeline.name, version })
  const signal = new AbortController().signal
  const prove = asked.prove
  const shop = {
    ...{ set, seed, limit, version, signal },
    finish: <T>(draft: T) => draft,
    prove: prove ? async ({ name }: { name: string }) => prove(name) : null,
    onProgress: () => {},
  }
  const request = {
    ...{ stage, seed, limit, targetRepo, pipelineDir: dir, outputDir: out, upload: true, check: false },
    ...{ source: { kind: 'fixture' }, inputDir: null, tasksInput: null, model: null, options: {}, metadata: {} },
    sandbox: { cpus: null, memoryMb: null, storageMb: null, gpus: null },
    trace: {
      agent: 'nop',
      model: null,
      nConcurrent: 1,
      episodes: 'last',
      filter: 'none',
      subagents: true,
      evalOnly: false,
    },
  } satisfies GenerationRequest
  const context: GenerationContext = {
    ...{ signal, workDir: set.workDir, model: null, sandboxes: null, log: () => {}, makeStage },
    makeTasks: (work) => makeTasks(work, shop),
    runTraces: async (tasksDir) => ({
      datasetPath: `${tasksDir}/traced`,
      status: 'success',
      uploadedRepo: null,
      artifacts: {},
      metadata: {},
    }),
  }
  const published: string[] = []
  const publish = async ({ dir, target }: { dir: string; target: string }) => {
    published.push(`${dir.slice(out.length)} to ${target}`)
    if (target === 'org/down') throw new BoundaryError('store', 'the Hub failed (503)')
    return target
  }
  try {
    return { out, published, ...(await runGeneration(runnable, request, context, publish)) }
  } finally {
    await set.close()
  }
}

const tasksIn = async (out: string) => (await readdir(join(out, 'tasks'))).sort()
const rejectsIn = async (out: string) =>
  (await readFile(join(out, 'rejects.jsonl'), 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

test('a dataset that cannot be published is kept, and the failure says where', async () => {
  const failing = generate(declared(pipeline()), { limit: 1, targetRepo: 'org/down' })
  await expect(failing).rejects.toMatchObject({ boundary: 'store', code: 'UploadFailure' })
  await expect(failing).rejects.toThrow(/^org\/down: the Hub failed \(503\); all results are still in .*\/tasks$/)
})

test('every row becomes a task with its lineage', async () => {
  const { out, tasks } = await generate(declared(pipeline()))
  expect(tasks).toMatchObject({ status: 'success', metadata: { rows: 5, tasks: 5, rejects: {} } })
  expect(await tasksIn(out)).toEqual(['words-0', 'words-1', 'words-2', 'words-3', 'words-4'])
  const task = await loadTask(join(out, 'tasks/words-1'))
  expect(task.instruction).toBe('Write two.\n')
  expect(task.metadata.lineage).toMatchObject({ pipeline: 'words', strategy: 'words', row_id: '1', seed: 1 })
})

test('finished rows are not made again, not even dropped ones', async () => {
  let made = 0
  const counting = pipeline({
    make: ({ id }) => {
      made++
      return id === '1' ? { drop: 'too-easy', detail: 'a word' } : { instruction: id, files }
    },
  })
  const first = await generate(declared(counting), { limit: 2 })
  expect(made).toBeLessThanOrEqual(5)
  const { tasks } = await generate(declared(counting), { out: first.out })
  expect(await tasksIn(first.out)).toEqual(['words-0', 'words-2', 'words-3', 'words-4'])
  expect(tasks?.metadata).toMatchObject({ rows: 5, tasks: 4, rejects: { 'too-easy': 1 } })
  expect(tasks?.metadata.resumed).toBeGreaterThanOrEqual(3)
  made = 0
  await generate(declared(counting), { out: first.out })
  expect(made).toBe(0)
  expect(await rejectsIn(first.out)).toEqual([{ row: '1', task: null, reason: 'too-easy', detail: 'a word' }])
})

test('the limit counts tasks that were accepted, in the order of the rows', async () => {
  const prove = (name: string): Proof =>
    name === 'words-0' ? { verdict: 'rejected', reason: 'nop', detail: 'doing nothing scores 1' } : accepted
  const { out, tasks } = await generate(declared(pipeline()), { limit: 2, prove })
  expect(await tasksIn(out)).toEqual(['words-1', 'words-2'])
  expect(tasks?.metadata).toMatchObject({ tasks: 2, rejects: { nop: 1 } })
  await expect(generate(declared(pipeline()), { out, limit: 1 })).rejects.toThrow('--limit')
})

test('a task that could not be proven is left out for now and tried again', async () => {
  const unknown: Proof = { verdict: 'unknown', reason: 'unverified', detail: 'no image' }
  const { out, tasks } = await generate(declared(pipeline()), {
    prove: (name) => (name === 'words-3' ? unknown : accepted),
  })
  expect(tasks).toMatchObject({ status: 'partial', metadata: { tasks: 4, failed: 1, rejects: { unverified: 1 } } })
  const again = await generate(declared(pipeline()), { out, prove: () => accepted })
  expect(again.tasks).toMatchObject({ status: 'success', metadata: { tasks: 5, resumed: 4 } })
})

test('a row whose making throws is dropped with the reason; an infrastructure failure is a failed row', async () => {
  const { out, tasks } = await generate(
    declared(
      pipeline({
        make: ({ id, fields }) => {
          if (id === '0') throw new TypeError('no such field')
          if (id === '1') throw new BoundaryError('model', 'the server is down')
          if (id === '2') return { instruction: ' ', files }
          if (id === '3') return { name: 'same', instruction: 'x', files: { '../x': { data: '' } } }
          return [
            { name: 'same', instruction: String(fields.word), files },
            { name: 'SAME', instruction: 'again', files },
          ]
        },
      }),
    ),
  )
  expect(tasks).toMatchObject({ status: 'partial', metadata: { tasks: 1, failed: 1 } })
  expect((await rejectsIn(out)).map(({ row, reason }) => [row, reason])).toEqual([
    ['0', 'make-failed'],
    ['1', 'model-failed'],
    ['2', 'bad-draft'],
    ['3', 'bad-draft'],
    ['4', 'duplicate-name'],
  ])
})

test('two rows with a task of the same name leave one task, also when the first row was finished last', async () => {
  const make = (isDown: boolean) => () =>
    declared(
      pipeline({
        make: ({ id, fields }) => {
          if (id === '0' && isDown) throw new BoundaryError('model', 'the server is down')
          return { name: Number(id) < 2 ? 'same' : `n-${id}`, instruction: String(fields.word), files }
        },
      }),
    )
  const first = await generate(make(true)())
  expect(first.tasks).toMatchObject({ metadata: { tasks: 4, failed: 1 } })
  for (const resumed of [4, 5]) {
    const { out, tasks } = await generate(make(false)(), { out: first.out })
    expect(tasks).toMatchObject({ metadata: { tasks: 4, resumed, rejects: { 'duplicate-name': 1 } } })
    expect(await tasksIn(out)).toEqual(['n-2', 'n-3', 'n-4', 'same'])
    expect(await readFile(join(out, 'tasks/same/instruction.md'), 'utf8')).toContain('one')
    expect(await rejectsIn(out)).toMatchObject([{ row: '1', task: 'same', reason: 'duplicate-name' }])
  }
})

test('an unfinished row leaves nothing of its first try when it comes out differently', async () => {
  let tries = 0
  const make = async function* ({ id, fields }: RawRow): AsyncGenerator<NewDraft, void> {
    if (id !== '0') yield { instruction: String(fields.word), files }
    if (id !== '0') return
    tries++
    yield { name: `try-${tries}`, instruction: 'x', files }
    if (tries === 1) throw new BoundaryError('model', 'the server is down')
  }
  const first = await generate(declared(pipeline({ make })))
  expect(await tasksIn(first.out)).toContain('try-1')
  const { out, tasks } = await generate(declared(pipeline({ make })), { out: first.out })
  expect(await tasksIn(out)).toEqual(['try-2', 'words-1', 'words-2', 'words-3', 'words-4'])
  expect(tasks).toMatchObject({ status: 'success', metadata: { tasks: 5 } })
})

test('a row that fails again keeps the tasks of its first try, and they count', async () => {
  let yields = 3
  let isDown = true
  const make = async function* ({ id, fields }: RawRow): AsyncGenerator<NewDraft, void> {
    if (id !== '0') yield { instruction: String(fields.word), files }
    if (id !== '0') return
    for (let nth = 0; nth < yields; nth++) yield { name: `zero-${nth}`, instruction: `of ${yields}`, files }
    if (isDown) throw new BoundaryError('model', 'the server is down')
  }
  const zero = ['zero-0', 'zero-1', 'zero-2']
  const { out } = await generate(declared(pipeline({ make })), { limit: 4 })
  expect(await tasksIn(out)).toEqual(['words-1', ...zero])
  for (yields of [0, 1]) {
    const { tasks } = await generate(declared(pipeline({ make })), { out, limit: 4 })
    expect(await tasksIn(out)).toEqual(['words-1', ...zero])
    expect(tasks).toMatchObject({ status: 'partial', metadata: { tasks: 4, failed: 1 } })
  }
  expect(await readFile(join(out, 'tasks/zero-0/instruction.md'), 'utf8')).toBe('of 1\n')
  expect(await readFile(join(out, 'tasks/zero-1/instruction.md'), 'utf8')).toBe('of 3\n')
  isDown = false
  const { tasks } = await generate(declared(pipeline({ make })), { out })
  expect(await tasksIn(out)).toEqual(['words-1', 'words-2', 'words-3', 'words-4', 'zero-0'])
  expect(tasks).toMatchObject({ status: 'success', metadata: { tasks: 5 } })
})

test('a row that fails does not put its task in the place of one of a finished row', async () => {
  let yields = false
  const make = async function* ({ id, fields }: RawRow): AsyncGenerator<NewDraft, void> {
    const draft = { name: Number(id) < 2 ? 'same' : `n-${id}`, instruction: String(fields.word), files }
    if (id !== '0' || yields) yield draft
    if (id === '0') throw new BoundaryError('model', 'the server is down')
  }
  const { out } = await generate(declared(pipeline({ make })))
  yields = true
  const { tasks } = await generate(declared(pipeline({ make })), { out })
  expect(tasks).toMatchObject({ metadata: { tasks: 4, failed: 1 } })
  expect(await readFile(join(out, 'tasks/same/instruction.md'), 'utf8')).toBe('two\n')
  expect(await rejectsIn(out)).toMatchObject([
    { row: '0', reason: 'model-failed' },
    { row: '0', task: 'same', reason: 'duplicate-name' },
  ])
})

test('a result that is not a draft drops its row, and the others continue', async () => {
  const given = [null, 5, { files }, { instruction: 'x', files: { 'tests/test.sh': { data: 3 } } }]
  const make = ({ id, fields }: RawRow) =>
    Number(id) < given.length ? (given[Number(id)] as NewDraft) : { instruction: String(fields.word), files }
  const { out, tasks } = await generate(declared(pipeline({ make })))
  expect(tasks).toMatchObject({ metadata: { tasks: 1, rejects: { 'bad-draft': 4 } } })
  expect((await rejectsIn(out)).map(({ detail }) => detail)).toEqual([
    'the draft: Invalid input: expected object, received null',
    'the draft: Invalid input: expected object, received number',
    'instruction: Invalid input: expected string, received undefined',
    'files.tests/test.sh.data: Invalid input',
  ])
})

test('a set without a task is a failure that names the reasons', async () => {
  const empty = declared(pipeline({ make: () => ({ drop: 'too-easy' }) }))
  await expect(generate(empty)).rejects.toMatchObject({
    name: 'BoundaryError',
    code: 'GenerationError',
    message: expect.stringMatching(/got none of 5 rows \(too-easy 5\)\nhint: \S+rejects\.jsonl lists the reason/),
  })
  const unproven: Proof = { verdict: 'unknown', reason: 'unverified', detail: 'no image' }
  await expect(generate(declared(pipeline()), { prove: () => unproven })).rejects.toThrow(
    /\(unverified 5\)\nhint: 0: no image; \S+rejects\.jsonl lists the reason/,
  )
})

test('settings that have not made a task are not binding', async () => {
  const out = join(await makeTempDir(), 'out')
  const empty = declared(pipeline({ make: () => ({ drop: 'too-easy' }) }))
  await expect(generate(empty, { out })).rejects.toThrow('expected at least one task')
  const { tasks } = await generate(declared(pipeline()), { out, version: 'v2' })
  expect(tasks).toMatchObject({ metadata: { tasks: 5 } })
  expect(JSON.parse(await readFile(join(out, 'generate.json'), 'utf8'))).toMatchObject({ version: 'v2' })
})

test('a set of other settings is not touched', async () => {
  const { out } = await generate(declared(pipeline()))
  const other = generate(declared(pipeline()), { out, version: 'v2' })
  await expect(other).rejects.toMatchObject({ name: 'UserError', message: expect.stringContaining('same version') })
})

test('the pipeline’s own verifier and environment fill what a draft leaves out, and nothing else', async () => {
  const { out } = await generate(
    declared(
      pipeline({
        make: ({ id }) => ({
          instruction: 'x',
          files: id === '0' ? { 'environment/Dockerfile': { data: 'FROM own\n' } } : {},
          config: { agent: { timeout_sec: 5 } },
        }),
        verifier: { files: { 'tests/test.sh': script }, timeoutSec: 33 },
        environment: { dockerfile: 'FROM shared\n', config: { agent: { timeout_sec: 9 }, environment: { cpus: 3 } } },
      }),
    ),
    { limit: 2 },
  )
  const docker = (name: string) => readFile(join(out, 'tasks', name, 'environment/Dockerfile'), 'utf8')
  expect([await docker('words-0'), await docker('words-1')]).toEqual(['FROM own\n', 'FROM shared\n'])
  expect(await loadTask(join(out, 'tasks/words-1'))).toMatchObject({
    agent: { timeoutSec: 5 },
    verifier: { timeoutSec: 33 },
    environment: { cpus: 3 },
  })
})

test('sampling by seed takes the given number of rows, and the same ones every time', async () => {
  const sampled = () => declared(pipeline({ sampling: { order: 'shuffled', rows: 3 } }))
  const [a, b, c] = [await generate(sampled()), await generate(sampled()), await generate(sampled(), { seed: 5 })]
  expect(await tasksIn(a.out)).toHaveLength(3)
  expect(await tasksIn(b.out)).toEqual(await tasksIn(a.out))
  expect(c.tasks?.metadata.rows).toBe(3)
})

test('a class with hooks of its own runs through the same life', async () => {
  class Own extends DataGenerator {
    override readonly name = 'own'
    override buildRequestMetadata() {
      return { note: 'remembered' }
    }
    override async runTaskGeneration(request: GenerationRequest, context: GenerationContext) {
      expect(request.metadata).toEqual({ note: 'remembered' })
      const rows = [{ id: 'a', source: 's', fields: {} }]
      const made = await context.makeTasks({
        pipeline: 'own',
        strategy: 'by-hand',
        rows,
        make: () => [{ instruction: 'x', files }],
      })
      return made.tasksDir
    }
  }
  const { out, tasks, traces, published } = await generate(ofClass(new Own()), {
    stage: 'both',
    targetRepo: 'file:/there',
  })
  expect(tasks?.datasetPath).toBe(join(out, 'tasks'))
  expect(traces?.datasetPath).toBe(join(out, 'tasks/traced'))
  expect(published).toEqual(['/tasks/traced to file:/there'])
  expect([new Own().gpuRequired, new Own().requiresEngineForStage('tasks')]).toEqual([false, false])
  const Marked = gpuRequired(class extends Own {})
  expect([new Marked().gpuRequired, new Marked().requiresEngineForStage('tasks')]).toEqual([true, true])
})

test('an error thrown by a class is blamed on the tasks or the traces, with its cause', async () => {
  class Broken extends DataGenerator {
    override readonly name = 'broken'
    override async runTaskGeneration(request: GenerationRequest): Promise<string> {
      if (request.stage === 'both') return request.outputDir
      throw new RangeError('boom')
    }
    override async runTraceGeneration(): Promise<never> {
      throw new RangeError('bang')
    }
  }
  const cause = expect.any(RangeError)
  const broken = ofClass(new Broken())
  await expect(generate(broken)).rejects.toMatchObject({ boundary: 'task', code: 'GenerationError', cause })
  await expect(generate(broken, { stage: 'both' })).rejects.toMatchObject({ code: 'TraceFailure', cause })
})

test('a class adds options one by one or as a schema', () => {
  class Choosy extends DataGenerator {
    override readonly name = 'choosy'
    override addArguments(args: Arguments): void {
      args.add('maxRows', z.number().default(3), 'how many').addAll(z.strictObject({ site: z.string().optional() }))
    }
    override requiresEngineForStage(_: string, options: Readonly<Record<string, unknown>> = {}): boolean {
      return options.site === 'far'
    }
    override async runTaskGeneration(): Promise<string> {
      return ''
    }
  }
  const choosy = pipelineOfClass(new Choosy())
  expect(parseOwnOptions(choosy.options, { maxRows: '7' })).toEqual({ maxRows: 7 })
  expect(choosy.options?.shape.maxRows?.description).toBe('how many')
  expect([{}, { site: 'far' }].map((given) => asksModel(choosy, given))).toEqual([false, true])
})

test('options come from texts as their schemas have them', () => {
  const schema = z.strictObject({
    site: z.enum(['unix', 'tor']).default('unix'),
    maxRows: z.number().int().min(1).optional(),
    keep: z.boolean().default(false),
    tags: z.array(z.string()).default([]),
    weights: z.record(z.string(), z.number()).default({}),
  })
  expect(parseOwnOptions(schema, {})).toEqual({ site: 'unix', keep: false, tags: [], weights: {} })
  const given = { site: 'tor', maxRows: '3', keep: true, tags: 'a, b', weights: '{"x":1}' }
  expect(parseOwnOptions(schema, given)).toEqual({
    site: 'tor',
    maxRows: 3,
    keep: true,
    tags: ['a', 'b'],
    weights: { x: 1 },
  })
  expect(() => parseOwnOptions(schema, { maxRows: 'many' })).toThrow(/--max-rows.*got "many"/)
  expect(() => parseOwnOptions(schema, { site: 'mars' })).toThrow(/--site/)
})

test('an option whose name cannot be a flag is refused', () => {
  expect(() => parseOwnOptions(z.strictObject({ max_rows: z.number() }), {})).toThrow(
    'expected a name in camelCase such as maxRows',
  )
})
