import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UserError } from '../../src/core/errors.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import local from '../../src/sandboxes/local/index.ts'
import { agentThat, solver } from '../fakes/agents.ts'
import { canMount, mountSmallDisk, resizeSmallDisk, unmountSmallDisk } from '../small-disk.ts'
import { makePlace, openPlace, playJob, recordsOf } from './job-kit.ts'
import { leftovers, scratch, withSandboxes } from './kit.ts'

const small = join(scratch, 'small-disk')
const stateDisk = join(scratch, 'state-disk')
for (const dir of [small, stateDisk]) mkdirSync(dir)

const suite = () => {
  beforeAll(() => mountSmallDisk(small, '1m'))
  afterAll(() => unmountSmallDisk(small))

  test('stops the job with a message; with more room the same job finishes', async () => {
    const place = { ...(await makePlace(['a', 'b', 'c'])), jobsDir: join(small, 'jobs') }
    const chatty = agentThat(async (at) => {
      if (at.task.name === 'b') await at.sandbox.exec(['sh', '-c', 'head -c 4000000 /dev/zero > /logs/agent/big'])
      return solver.solve(at)
    })
    const config = { nConcurrentTrials: 1 }
    const error = await playJob(place, { config, makeAgent: async () => chatty }).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UserError)
    expect(String(error)).toContain('full')
    expect(await leftovers()).toEqual([])
    resizeSmallDisk(small, '64m')
    const { job, result } = await playJob(place, { config, makeAgent: async () => chatty })
    expect(job.continued).toBe(true)
    expect(result.finishedAt).not.toBeNull()
    expect((await recordsOf(job)).map(({ end }) => end.kind)).toEqual(['scored', 'scored', 'scored'])
  })
}

const ofSandboxes = () => {
  beforeAll(() => mountSmallDisk(stateDisk, '512m'))
  afterAll(() => unmountSmallDisk(stateDisk))

  test.each([
    ['before a trial', 'a'],
    ['while an agent works', 'b'],
  ])('stops the job when it is full %s; with room again the same job finishes', async (when, filling) => {
    const provider = local.make(
      { pids: 512, verify: 'fresh' },
      { env: {}, stateDir: join(stateDisk, `state-${filling}`) },
    )
    const place = await makePlace(['a', 'b', 'c'])
    const filler = join(stateDisk, 'filler')
    const config = { nConcurrentTrials: 1 }
    let isFull = false
    const agent = agentThat(async (at) => {
      if (at.task.name === filling && !isFull && when === 'while an agent works') {
        fill(filler)
        isFull = true
      }
      return solver.solve(at)
    })
    if (when === 'before a trial') {
      await provider.prepare?.((await loadTask(join(place.tasksDir, 'a'))).environment)
      fill(filler)
    }
    const play = { config, provider, makeAgent: async () => agent }
    const error = await playJob(place, play).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UserError)
    expect(String(error)).toContain(`the disk of ${join(stateDisk, `state-${filling}`)} is full`)
    const before = await recordsOf(await openPlace(place, play))
    const blamed = before.filter(
      ({ end }) => end.kind === 'failed' || (end.kind === 'scored' && end.rewards?.reward !== 1),
    )
    expect(blamed).toEqual([])
    rmSync(filler)
    const { job, result } = await playJob(place, play)
    expect(job.continued).toBe(true)
    expect(result.finishedAt).not.toBeNull()
    const records = await recordsOf(job)
    expect(records.map(({ end }) => end.kind === 'scored' && end.rewards)).toEqual(Array(3).fill({ reward: 1 }))
  })
}

/** Fills up the disk that a file is on. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let size = 1 << 20; size > 0; size = Math.floor(size / 2))
      for (;;) {
        try {
          writeSync(file, Buffer.alloc(size))
        } catch {
          break
        }
      }
  } finally {
    closeSync(file)
  }
}

const unable = canMount(small) ? null : 'needs root to mount a small disk'
withSandboxes('a full disk', suite, unable)
withSandboxes('a full disk of sandboxes', ofSandboxes, unable)
