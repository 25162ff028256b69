import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { offlineWords } from '../fakes/offline-words.ts'
import { passingTest } from '../fakes/tasks.ts'
import { collect, ot, startJudge, verdict } from './judge-kit.ts'
import { scratch, withSandboxes } from './kit.ts'

const missing = (what: string) =>
  new RegExp(`^error: ${what} judged by a model, but no model was set\nhint: pass --judge-model.*\n$`)

test('a pipeline whose tasks are judged makes none without a judge for agents’ work', async () => {
  const out = join(scratch, 'declared')
  const author = offlineWords('llm-verifier')
  const words = ['generate', 'data/llm-verifier/generate.ts', '--stage', 'both', '--output-dir', out, ...author]
  const stderr = expect.stringMatching(missing('tasks of llm-verifier are'))
  expect(await ot(...words)).toMatchObject({ code: 2, stdout: '', stderr })
  expect(await ot(...words, '--dry-run')).toMatchObject({ code: 2, stdout: '', stderr })
  expect(existsSync(out)).toBe(false)
  // Without scoring, no judge is needed.
  expect(await ot(...words, '--dry-run', '--disable-verification')).toMatchObject({ code: 0, stderr: '' })
  const file = join(scratch, 'unverified.yaml')
  await writeFile(file, 'verifier:\n  disable: true\n')
  expect(await ot(...words, '--dry-run', '--trace-harbor-config', file)).toMatchObject({ code: 0, stderr: '' })
})

/** Does not mention judges, although the second of its tasks needs one. */
const pipeline = `import { definePipeline } from 'ot-agent'
const rubric = JSON.stringify({ schema: 'judge/1', criteria: [{ name: 'kind', text: 'Kind, and made here.' }] })
const script = (text) => ({ data: '#!/bin/bash\\n' + text + '\\n' })
export default definePipeline({
  name: 'now-and-then', summary: 's',
  source: { fixture: { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } }, real: null },
  make: ({ id }) => ({
    instruction: 'Write 42 to /answer.',
    files: {
      'solution/solve.sh': script('echo 42 > /answer'),
      'tests/test.sh': script(id === 'b' ? ${JSON.stringify(collect)} : ${JSON.stringify(passingTest)}),
      ...(id === 'b' && { 'tests/judge.json': { data: rubric } }),
    },
  }),
})
`

withSandboxes('a pipeline that says nothing of a judge', () => {
  test('stops at its first task that needs one, and resumes from there', async () => {
    const dir = join(scratch, 'now-and-then')
    await mkdir(dir)
    await writeFile(join(dir, 'generate.ts'), pipeline)
    await writeFile(join(dir, 'rows.jsonl'), '{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n')
    const out = join(scratch, 'now-and-then-out')
    const words = ['generate', join(dir, 'generate.ts'), '--output-dir', out, '-n', '1', '-q', '--json']
    const stderr = expect.stringMatching(missing('task now-and-then-b is'))
    // Without a judge, it could be neither proven nor run.
    expect(await ot(...words)).toMatchObject({ code: 2, stdout: '', stderr })
    expect(readdirSync(join(out, 'tasks'))).toEqual(['now-and-then-a'])
    const server = await startJudge(['m'], verdict(1))
    const agents = ['--stage', 'both', '--trace-agent-name', 'oracle', '--trace-eval-only']
    expect(await ot(...words, ...agents, '--no-check', '--overwrite')).toMatchObject({ code: 2, stdout: '', stderr })
    expect(readdirSync(join(out, 'tasks'))).toEqual(['now-and-then-a'])
    const { stdout } = await ot(...words, ...agents, '--no-check', ...server.judge)
    expect(JSON.parse(stdout)).toMatchObject({
      tasks: { metadata: { tasks: 3, resumed: 1, rejects: {} } },
      traces: { metadata: { scored: 3, meanReward: 1 } },
    })
    expect(server.requests).toHaveLength(1)
  })
})
