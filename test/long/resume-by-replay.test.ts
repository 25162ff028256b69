import { appendFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { scratch, withSandboxes } from '../e2e/kit.ts'
import {
  CountingModel,
  finished,
  type JobUnderTest,
  makeJob,
  rowOf,
  startProgram,
  typed,
  wholeTurns,
} from '../e2e/resume-kit.ts'
import { passingTest, writeTask } from '../fakes/tasks.ts'

const model = new CountingModel()
beforeAll(() => model.open())
afterAll(() => model.close())
beforeEach(() => {
  model.answered = 0
  model.typed = typed
})

/** The cost of the first replies. */
const paid = (turns: number) => ({
  turns,
  inputTokens: 50 * turns * (turns + 1),
  cacheTokens: 10 * turns,
  outputTokens: 7 * turns,
})

withSandboxes('a trial that was interrupted', () => {
  let whole: JobUnderTest
  beforeAll(async () => {
    whole = await makeJob(model)
    expect(await whole.finish()).toMatchObject({ code: 0, summary: { resumed: null } })
  })

  test.each([
    ['harbor', 'SIGKILL'],
    ['packed', 'SIGKILL'],
    ['harbor', 'SIGINT'],
    ['packed', 'SIGINT'],
  ] as const)('pays for no reply twice (%s, %s)', async (layout, signal) => {
    const job = await makeJob(model, { layout })
    await job.interruptAt(3, signal)
    expect(model.answered).toBe(3)
    const { code, stderr, summary } = await job.finish()
    expect(code, stderr).toBe(0)
    expect(model.answered).toBe(wholeTurns)
    expect(stderr).toMatch(/interrupted trials: 1 resumed by replay, 3 replies reused \(600 in, 21 out\)/)
    expect(summary).toMatchObject({
      resumed: { replayed: 1, diverged: 0, turns: 3, inputTokens: 600, outputTokens: 21 },
    })
    const record = await job.record()
    expect(record.resumed).toEqual({ kind: 'replayed', ...paid(3), costUsd: null })
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, usage: (await whole.record()).usage })
    expect(rowOf(job)).toEqual(rowOf(whole))
    expect(existsSync(join(job.dir, '.tapes'))).toBe(false)
    const books = readFileSync(join(job.dir, 'spend.jsonl'), 'utf8')
    expect(books.split('"answered":true')).toHaveLength(wholeTurns + 1)
  })

  test('keeps the longer recording when it is interrupted again, early in its replay and after it', async () => {
    const job = await makeJob(model)
    await job.interruptAt(4, 'SIGKILL')
    model.holdsAt = 4
    const replaying = job.start()
    while (!isReplaying(job) || turnsIn(job) < 1) await wait(5)
    replaying.kill('SIGKILL')
    await finished(replaying)
    await job.interruptAt(5, 'SIGINT')
    expect(model.answered).toBe(5)
    expect(await job.finish()).toMatchObject({ code: 0 })
    expect(model.answered).toBe(wholeTurns)
    expect((await job.record()).resumed).toMatchObject({ kind: 'replayed', turns: 5 })
  })

  test('asks again for a reply that was written down only in part', async () => {
    const job = await makeJob(model)
    await job.interruptAt(3, 'SIGKILL')
    const file = join(job.workDir(), 'agent/exchanges.jsonl')
    truncateSync(file, readFileSync(file).length - 20)
    expect(await job.finish()).toMatchObject({ code: 0, summary: { resumed: { replayed: 1, turns: 2 } } })
    expect(model.answered).toBe(wholeTurns + 1)
    expect(rowOf(job)).toEqual(rowOf(whole))
  })

  test('is replayed as far as its file can be read', async () => {
    const job = await makeJob(model)
    await job.interruptAt(2, 'SIGKILL')
    appendFileSync(join(job.workDir(), 'agent/exchanges.jsonl'), '\0\0\0 no line of ours\n')
    expect(await job.finish()).toMatchObject({ code: 0, summary: { resumed: { replayed: 1, turns: 2 } } })
  })

  test('starts over in a fresh sandbox when its environment says something else, and tells where', async () => {
    model.typed = [typed[0] ?? '', 'od -An -tu8 -N8 /dev/urandom', ...typed.slice(2)]
    const job = await makeJob(model)
    await job.interruptAt(3, 'SIGKILL')
    const { code, stderr, summary } = await job.finish()
    expect(code, stderr).toBe(0)
    expect(summary).toMatchObject({ resumed: { replayed: 0, diverged: 1, turns: 0 } })
    const record = await job.record()
    expect(record.resumed).toMatchObject({
      kind: 'diverged',
      turns: 2,
      step: null,
      turn: 3,
      what: expect.stringMatching(/user message/),
    })
    expect(record.resumed).toHaveProperty('expected')
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(model.answered).toBe(3 + wholeTurns)
    expect(record.usage).toEqual((await whole.record()).usage)
    expect(turnsIn(job)).toBe(wholeTurns)
  })

  test('with steps resumes in the interrupted step', async () => {
    const toml = 'schema_version = "1.2"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    const files: Record<string, string | null> = { 'instruction.md': null }
    for (const step of ['one', 'two']) {
      files[`steps/${step}/instruction.md`] = `Write 42 to /answer, as step ${step}.\n`
      files[`steps/${step}/tests/test.sh`] = `#!/bin/bash\n${passingTest}\n`
    }
    const job = await makeJob(model, { task: { toml, files } })
    // The second step is recognized by its words.
    model.holdsIf = ({ messages }) => JSON.stringify(messages).includes('step two')
    await job.interruptAt(2, 'SIGKILL')
    model.holdsIf = () => true
    expect(model.answered).toBe(wholeTurns + 2)
    expect(await job.finish()).toMatchObject({ code: 0, summary: { resumed: { replayed: 1, turns: wholeTurns + 2 } } })
    expect(model.answered).toBe(2 * wholeTurns)
    expect((await job.record()).end).toMatchObject({ rewards: { reward: 1 } })
  })

  test.each([
    ['is replayed', '', { replayed: 1, turns: 2 }, 4],
    ['is not, when it says so', 'repeats: false,', { notReplayed: 1 }, 6],
  ])('of a custom agent %s', async (_, more, resumed, calls) => {
    const file = join(scratch, `custom-${calls}.ts`)
    writeFileSync(
      file,
      `export default {
        name: 'custom', version: '1', needsModel: true, ${more}
        async solve({ client, instruction, sandbox }) {
          const messages = [{ role: 'user', content: instruction }]
          for (let turn = 0; turn < 4; turn++) {
            const { reply } = await client.complete({ messages: [...messages] })
            const { stdout } = await sandbox.exec(['bash', '-c', 'echo 42 | tee /answer'])
            messages.push({ role: 'assistant', content: reply.text }, { role: 'user', content: stdout })
          }
          return { kind: 'finished' }
        },
      }`,
    )
    const job = await makeJob(model, { words: ['--agent-import-path', file] })
    await job.interruptAt(2, 'SIGKILL')
    expect(await job.finish()).toMatchObject({ code: 0, summary: { resumed } })
    expect(model.answered).toBe(calls)
  })

  test.each(['recipe', 'generate'])('pays for no reply twice when it is part of a %s', async (kind) => {
    const place = join(scratch, kind)
    await writeTask(join(place, 'tasks'), 'answer')
    const apiBase = `${model.origin}/v1`
    const stages = [
      { id: 'tasks', use: 'sources/task-folder', with: { path: join(place, 'tasks') } },
      { id: 'rollout', use: 'rollouts/agent', with: { teacher: { model: 'counted', apiBase }, sandbox: 'local' } },
    ]
    writeFileSync(join(place, 'recipe.ts'), `export default ${JSON.stringify({ name: kind, seed: 1, stages })}\n`)
    const traces = ['--stage', 'traces', '--tasks-input', join(place, 'tasks'), '--output-dir', join(place, 'out')]
    const line =
      kind === 'recipe'
        ? ['recipe', 'run', join(place, 'recipe.ts'), '-o', join(place, 'run'), '-q']
        : ['generate', 'data/nl2bash/generate.ts', ...traces, '-m', 'counted', '--api-base', apiBase, '-q']
    const asked = model.hold(3)
    const child = startProgram(line)
    await asked
    child.kill('SIGKILL')
    await finished(child)
    model.holdsAt = null
    const { code, stderr } = await finished(startProgram(line))
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('interrupted trials: 1 resumed by replay, 3 replies reused')
    expect(model.answered).toBe(wholeTurns)
  })

  test('starts over when that is asked for', async () => {
    const job = await makeJob(model)
    await job.interruptAt(3, 'SIGKILL')
    expect(await job.finish('--restart-interrupted')).toMatchObject({
      code: 0,
      summary: { resumed: { notReplayed: 1 } },
    })
    expect(model.answered).toBe(3 + wholeTurns)
    expect((await job.record()).resumed).toMatchObject({
      kind: 'not-replayed',
      reason: expect.stringContaining('disabled'),
    })
  })

  test('is resumed by jobs resume, and a budget counts only new requests', async () => {
    const job = await makeJob(model)
    const stopped = await job.finish('--budget-requests', '2')
    expect(stopped).toMatchObject({ code: 3, summary: { finished: false } })
    const resumed = await finished(startProgram(['jobs', 'resume', job.dir, '-q', '--json']))
    expect(resumed).toMatchObject({ code: 0, summary: { finished: true, resumed: { replayed: 1, turns: 2 } } })
    expect(model.answered).toBe(wholeTurns)
  })
})

function isReplaying(job: JobUnderTest): boolean {
  const log = join(job.workDir(), 'trial.log')
  return existsSync(log) && readFileSync(log, 'utf8').includes('of an interrupted attempt will be replayed')
}

/** The number of replies in the trial's exchanges, running or finished. */
function turnsIn(job: JobUnderTest): number {
  if (!existsSync(job.dir) || readdirSync(job.dir).length === 0) return 0
  const file = join(job.workDir(), 'agent/exchanges.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8').split('"reply":').length - 1 : 0
}
