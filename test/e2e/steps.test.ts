import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import oracle from '../../src/agents/oracle.ts'
import { agentThat } from '../fakes/agents.ts'
import { agentConfig } from '../fakes/configs.ts'
import type { TaskFiles } from '../fakes/tasks.ts'
import { leftovers, playTrial, stateDir, withSandboxes } from './kit.ts'

const solveByOracle = oracle.make({}, { env: {}, stateDir })

withSandboxes('a task with steps', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('runs them in one sandbox, each with its own files, and takes the mean', async () => {
    const task = steps('', { reward: 1, note: 'first' }, { reward: 0.5, note: 'second' })
    const { record, dir } = await playTrial({ task, agent: solveByOracle })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 0.75 } })
    expect(record.steps?.map(({ name, rewards }) => [name, rewards])).toEqual([
      ['s1', { reward: 1 }],
      ['s2', { reward: 0.5 }],
    ])
    expect(read(dir, 'steps/s1/agent/oracle.txt')).toBe('first\n')
    expect(read(dir, 'steps/s2/agent/oracle.txt')).toBe('first\nsecond\n')
    expect(read(dir, 'steps/s2/verifier/test-stdout.txt')).toBe('shared then s2\n')
    expect(existsSync(join(dir, 'agent'))).toBe(false)
    expect(record.isolation).toBe('fresh')
  })

  test('takes the last reward when the task says final', async () => {
    const task = steps('multi_step_reward_strategy = "final"\n', { reward: 0 }, { reward: 1 })
    expect((await playTrial({ task, agent: solveByOracle })).record.end).toMatchObject({ rewards: { reward: 1 } })
  })

  test('stops at a gate that is not reached, and is scored by what ran', async () => {
    const task = steps('', { reward: 0.4, gate: 'min_reward = 0.5' }, { reward: 1 })
    const { record } = await playTrial({ task, agent: solveByOracle })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 0.4 } })
    expect(record.steps).toHaveLength(1)
  })

  test('continues past a gate that is reached', async () => {
    const task = steps('', { reward: 0.5, gate: 'min_reward = { reward = 0.5 }' }, { reward: 1 })
    expect((await playTrial({ task, agent: solveByOracle })).record.steps).toHaveLength(2)
  })

  test('fails as a whole when a step fails, and the record says which', async () => {
    const task = steps('', { reward: 1 }, { reward: 1, setup: 'exit 3' })
    const { record } = await playTrial({ task, agent: solveByOracle })
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'task' } })
    expect(record.steps?.map((step) => step.failure?.boundary ?? null)).toEqual([null, 'task'])
  })

  test('shows the agent of a later step no file and no process of an earlier step’s tests', async () => {
    const seen: string[] = []
    const look =
      'ls -A /tests /logs/verifier /srv /stolen 2>/dev/null | grep -v :; for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done 2>/dev/null | grep "[s]leep 741"; cat /work'
    const spy = agentThat(async (at) => {
      seen.push((await at.sandbox.exec(['sh', '-c', `${look}; echo mine > /work`])).stdout.trim())
      return { kind: 'finished' }
    })
    const leave = 'cp -r /tests /stolen; cp -r /tests/. /srv/; (setsid sleep 741 > /dev/null 2>&1 &)'
    const task = steps('', { reward: 1 }, { reward: 1 }, { reward: 1 })
    const { record } = await playTrial({ task: { ...task, test: `${leave}\n${task.test}` }, agent: spy })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(seen).toEqual(['', 'mine', 'mine'])
  })

  test('verifies a step whose agent ran out of time and continues', async () => {
    const slow = agentThat(async (at) => (at.step?.name === 's1' ? new Promise(() => {}) : { kind: 'finished' }))
    const task = steps('', { reward: 0.5 }, { reward: 1 })
    const { record } = await playTrial({
      task,
      agent: slow,
      config: { agent: agentConfig({ overrideTimeoutSec: 0.2 }) },
    })
    expect(record.steps?.map((step) => step.exit)).toEqual([{ kind: 'limit', limit: 'time' }, { kind: 'finished' }])
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 0.75 }, exit: { kind: 'finished' } })
  })
})

interface StepFiles {
  readonly reward: number
  readonly note?: string
  readonly gate?: string
  readonly setup?: string
}

/** A task whose steps give fixed rewards; each step's setup appends to /note, which the solution prints. */
function steps(toml: string, ...all: readonly StepFiles[]): TaskFiles {
  const named = all.map((step, i) => ({ ...step, name: `s${i + 1}` }))
  const files = named.flatMap(({ name, reward, note, setup }) => [
    [`steps/${name}/instruction.md`, `do ${name}`],
    [`steps/${name}/solution/solve.sh`, '#!/bin/bash\ncat /note\n'],
    [`steps/${name}/workdir/setup.sh`, setup ?? `echo ${note ?? name} >> /note`],
    [`steps/${name}/tests/own.txt`, name],
    [`steps/${name}/tests/reward`, String(reward)],
  ])
  return {
    toml: toml + named.map(({ name, gate = '' }) => `[[steps]]\nname = "${name}"\n${gate}\n`).join(''),
    test: 'echo "$(cat /tests/shared.txt) then $(cat /tests/own.txt)"; cp /tests/reward /logs/verifier/reward.txt',
    files: {
      'instruction.md': null,
      'solution/solve.sh': null,
      'tests/shared.txt': 'shared',
      ...Object.fromEntries(files),
    },
  }
}

function read(dir: string, path: string): string {
  return readFileSync(join(dir, path), 'utf8')
}
