import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UserError } from '../../src/core/errors.ts'
import { agentThat, solver } from '../fakes/agents.ts'
import { canMount, mountSmallDisk, resizeSmallDisk, unmountSmallDisk } from '../small-disk.ts'
import { makePlace, playJob, recordsOf } from './job-kit.ts'
import { leftovers, scratch, withSandboxes } from './kit.ts'

const small = join(scratch, 'small-disk')
mkdirSync(small)

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

withSandboxes('a full disk', suite, canMount(small) ? null : 'needs root to mount a small disk')
