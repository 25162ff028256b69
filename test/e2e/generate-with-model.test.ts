import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Behaviour, says, startModelServer } from '../fakes/model-server.ts'
import { scratch } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
const rowCount = 12
const answeredBefore = 15

/** Two questions per row, so that a run can also be killed in the middle of a row. */
const pipeline = `import { ask, definePipeline, isDropped, lineageOf } from 'ot-agent'
export default definePipeline({
  name: 'asking', summary: 's', needsModel: true,
  source: { fixture: { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } }, real: null },
  make: async ({ id }, at) => {
    const idea = await ask({ prompt: 'Idea for ' + id + '.', id }, at)
    if (isDropped(idea)) return idea
    const text = await ask({ prompt: 'Write out ' + idea.value, id }, at)
    if (isDropped(text)) return text
    return { instruction: text.value, files: { 'tests/test.sh': { data: 'echo 0' } }, lineage: lineageOf(idea, text) }
  },
})
`

test('a run that is killed while it asks a model pays for no reply twice', async () => {
  const dir = join(scratch, 'asking')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'generate.ts'), pipeline)
  const rows = Array.from({ length: rowCount }, (_, id) => JSON.stringify({ id: `r${id}` }))
  writeFileSync(join(dir, 'rows.jsonl'), `${rows.join('\n')}\n`)
  const server = await startModelServer()
  onTestFinished(() => server.close())
  const answered: string[] = []
  let limit = answeredBefore
  /** Requests past the limit get no reply, as if the model were still writing when the run dies. */
  const answer: Behaviour = (response, request) => {
    const prompt = String(request.body.messages[0].content)
    if (answered.length >= limit) return
    answered.push(prompt)
    says(prompt.startsWith('Idea') ? `task ${prompt.slice(9)}` : `Do ${prompt}`)(response, request)
  }
  server.plan(answer)
  const out = join(scratch, 'asking-out')
  const words = [
    ...[bin, 'generate', join(dir, 'generate.ts'), '--output-dir', out, '--no-check', '-n', '3', '--json'],
    ...['-m', 'm', '--api-base', `${server.origin}/v1`],
  ]
  const first = spawn(process.execPath, words, { env, stdio: 'ignore' })
  while (keptReplies(out) < answeredBefore && first.exitCode === null) await new Promise((done) => setTimeout(done, 20))
  first.kill('SIGKILL')
  await once(first, 'exit')
  expect(answered).toHaveLength(answeredBefore)
  limit = Number.POSITIVE_INFINITY

  const again = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let stdout = ''
  again.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
  })
  const [code] = await once(again, 'close')
  expect(code).toBe(0)
  expect(JSON.parse(stdout).tasks.metadata).toMatchObject({ rows: rowCount, tasks: rowCount })
  // Over both runs, every prompt was answered exactly once.
  expect(new Set(answered).size).toBe(2 * rowCount)
  expect(answered).toHaveLength(2 * rowCount)
  const [task = ''] = readdirSync(join(out, 'tasks'))
  expect(readFileSync(join(out, 'tasks', task, 'task.toml'), 'utf8')).toMatch(
    /prompt_digest = "[0-9a-f]{64}"\nmodel = "m"/,
  )
})

function keptReplies(out: string): number {
  const replies = join(out, '.work/cache/replies')
  if (!existsSync(replies)) return 0
  return readdirSync(replies, { recursive: true }).filter((path) => /[0-9a-f]{64}\.json$/.test(String(path))).length
}
