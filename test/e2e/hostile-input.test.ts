import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { makeBlackbox } from '../../src/agents/shared/blackbox/make-blackbox.ts'
import terminus from '../../src/agents/terminus-2/index.ts'
import type { Agent } from '../../src/core/agent.ts'
import { solver } from '../fakes/agents.ts'
import { agentConfig } from '../fakes/configs.ts'
import { clientThat, replies } from '../fakes/told-client.ts'
import { makePlace, playJob, recordsOf } from './job-kit.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
/** Depths under the limit, over it, and where recursive programs overflow. */
const depths = [50, 63, 64, 100, 1000, 100_000]

/** Sends requests with the deepest nesting of tools, arguments and contents it can, then does its work. */
const attack = `
const nested = (n) => '{"a":'.repeat(n) + '1' + '}'.repeat(n)
const ask = (body, path = 'chat/completions', key = process.env.KEY) => fetch(process.env.URL + '/v1/' + path,
  { method: 'POST', headers: { authorization: 'Bearer ' + key }, body }).then((r) => r.text(), () => '')
const user = '{"role":"user","content":"hi"}'
for (const n of ${JSON.stringify(depths)}) {
  const args = JSON.stringify(nested(n))
  await ask('{"model":"m","messages":[' + user + '],"tools":[{"type":"function","function":{"name":"t","parameters":' + nested(n) + '}}]}')
  await ask('{"model":"m","messages":[' + user + ',{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":' + args + '}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}')
  await ask('{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":' + nested(n) + '}]},' + user + ']}', 'messages')
  await ask('['.repeat(n))
}
await Promise.all(Array.from({ length: 300 }, () => ask('{}', 'chat/completions', 'wrong')))
require('node:fs').writeFileSync('/answer', '42')
`

withSandboxes('hostile input', () => {
  test('of a model and of a command-line agent harms no other trial, and its job can be resumed, shown and exported', async () => {
    mkdirSync(join(stateDir, `tools/no-such-agent@1.0.0-linux-${process.arch}`), { recursive: true })
    const place = await makePlace(['one', 'two'])
    const agents = ['hostile', 'terminus-2', 'solver'].map((name) => agentConfig({ name, modelName: 'fake/model' }))
    const play = {
      config: { agents, nConcurrentTrials: 3 },
      makeAgent: async ({ name }: { name: string | null }) => agentNamed(name),
      clientFor: () => hostileModel(),
    }
    const { job, result } = await playJob(place, play)
    expect(result).toMatchObject({ finishedAt: expect.any(String), stats: { completed: 6, errored: 0, cancelled: 0 } })
    const records = await recordsOf(job)
    const rewards = records.map(({ config, end }) => [config.agent.name, end.kind === 'scored' && end.rewards?.reward])
    expect(rewards.filter(([name]) => name === 'hostile' || name === 'solver').map(([, reward]) => reward)).toEqual([
      1, 1, 1, 1,
    ])
    expect(records.map(({ end }) => end.kind)).toEqual(Array(6).fill('scored'))
    const again = await playJob(place, {
      ...play,
      makeAgent: () => Promise.reject(new Error('nothing is left to run')),
    })
    expect(again.result.stats.completed).toBe(6)
    const talked = records
      .filter(({ config }) => config.agent.name !== 'solver' && config.trialName.startsWith('one'))
      .map(({ name }) => join(job.dir, name))
    readersWork(job.dir, talked, [0])
  })

  test('in files of a job breaks no command that reads them', async () => {
    const place = await makePlace(['one', 'two', 'three'])
    const { job } = await playJob(place)
    const trials = readdirSync(job.dir).filter((name) => name.includes('__'))
    const step = `{"step_id":1,"source":"agent","message":"m","tool_calls":[{"tool_call_id":"c","function_name":"f","arguments":${nested(100_000)}}]}`
    const trajectory = `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[${step}]}`
    for (const [i, name] of trials.entries()) {
      const dir = join(job.dir, name, 'agent')
      mkdirSync(dir, { recursive: true })
      if (i !== 1) writeFileSync(join(dir, 'trajectory.json'), trajectory)
      if (i !== 0) writeFileSync(join(dir, 'exchanges.jsonl'), `{"schema":"exchanges/1"}\n${nested(100_000)}\n`)
    }
    readersWork(
      job.dir,
      trials.map((name) => join(job.dir, name)),
      [0, 2, 3],
    )
  })
})

/** Every command that reads traces ends properly: with a result, or with two lines that say what is wrong. */
function readersWork(jobDir: string, trialDirs: readonly string[], codes: readonly number[]): void {
  const out = join(scratch, `export-${codes.length}`)
  for (const argv of [
    ['traces', 'stats', jobDir],
    ...trialDirs.map((dir) => ['traces', 'show', dir]),
    ['traces', 'export', '-p', jobDir, '--out', out],
    ['traces', 'export', '-p', jobDir, '--form', 'readable', '--out', `${out}-readable`],
    ['jobs', 'show', jobDir, '--json'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...argv], { encoding: 'utf8' })
    expect(`${argv.slice(0, 2).join(' ')}: ${stderr}`).not.toMatch(/call stack|RangeError|\n {4}at /)
    expect(codes, `${argv.join(' ')}: ${stderr}`).toContain(status)
  }
}

function agentNamed(name: string | null): Agent {
  if (name === 'solver') return { ...solver, name: 'solver' }
  if (name === 'terminus-2') return terminus.make(terminus.options.parse({ max_turns: 4 }), { env: {}, stateDir })
  const command = {
    name: 'hostile',
    tool: { npm: 'no-such-agent', version: '1.0.0' },
    files: () => ({}),
    env: ({ baseUrl, key }: { baseUrl: string; key: string }) => ({ URL: baseUrl, KEY: key }),
    argv: () => [
      'node',
      '--input-type=module',
      '-e',
      `import { createRequire } from 'node:module'; const require = createRequire('/'); ${attack}`,
    ],
  }
  return makeBlackbox(command, { collect_rollout_details: false }, { env: {}, stateDir })
}

/** Its replies, tool calls and thoughts are nested without limit. */
function hostileModel() {
  return clientThat(
    ...depths.map((levels) => {
      const tool = { id: 'c', name: 't', arguments: nested(levels) }
      return replies(nested(levels), { toolCalls: [tool], reasoning: nested(levels), finish: 'tool-calls' })
    }),
  )
}
