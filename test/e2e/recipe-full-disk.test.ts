import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UserError } from '../../src/core/errors.ts'
import type { AnyStage, StageServices } from '../../src/core/stage.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import { canMount, mountSmallDisk, resizeSmallDisk, unmountSmallDisk } from '../small-disk.ts'
import { readTree } from '../trees.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
const small = join(scratch, 'small-disk')
mkdirSync(small)
afterAll(() => rmSync(scratch, { recursive: true }))

let made = 0
/** Traces of random letters, which do not compress. */
const traces: AnyStage = {
  kind: 'source',
  gives: 'trace',
  async *rows() {
    for (let i = 0; i < 60; i++) {
      made++
      const content = Array.from({ length: 2000 }, (_, k) =>
        Math.sin(i * 7919 + k)
          .toString(36)
          .slice(3, 11),
      ).join('')
      yield { id: `t${i}`, conversations: [{ role: 'user', content }], task: `task-${i}`, signals: {}, lineage: null }
    }
  },
}

async function run() {
  const recipe = await resolveRecipe(
    {
      name: 'full',
      stages: [
        { use: 'traces' },
        { use: 'filters/rollouts/exact-duplicates' },
        { use: 'exporters/sharegpt', with: { replay: 0 } },
      ],
    },
    async (use, options) => (use === 'traces' ? traces : makeAnyStage(use, options)),
  )
  const [services, signal] = [{} as StageServices, new AbortController().signal]
  return runRecipe({ recipe, dir: join(small, 'run'), services, signal, shardRows: 20, memoryMb: 200 })
}

describe.skipIf(!canMount(small))('a disk that fills while a sink writes (needs root to mount a small one)', () => {
  beforeAll(() => mountSmallDisk(small, '1500k'))
  afterAll(() => unmountSmallDisk(small))

  test('stops the run with the stage named, keeps finished shards, and resumes when there is more room', async () => {
    const error = await run().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UserError)
    expect(String(error)).toContain('stage sharegpt: the disk is full')
    expect(readdirSync(join(small, 'run/out'))).toEqual([])
    const shards = await readTree(join(small, 'run/stages'))
    resizeSmallDisk(small, '64m')
    made = 0
    const { sinks, cached } = await run()
    expect(made).toBe(0)
    expect(cached).toEqual(['traces', 'exact-duplicates'])
    expect(sinks[0]?.counts).toEqual({ train: 57, validation: 3 })
    expect(await readTree(join(small, 'run/stages'))).toEqual(shards)
  })
})
