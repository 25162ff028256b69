import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Evaluate, type ListenEvent, type ListenRequest, listen } from '../../src/app/registry/listen.ts'
import { findLeaders } from '../../src/app/registry/query.ts'
import { UserError } from '../../src/core/errors.ts'
import { registerModel, registerTrainedModel } from '../../src/registry/entities.ts'
import { countLeases, queueModels, renewLease, takeLease } from '../../src/registry/leases.ts'
import { openRegistry } from '../../src/registry/open.ts'
import { sql } from '../../src/registry/sql.ts'
import { type Kit, numberOf, onBothDatabases } from './databases.ts'
import { makeJob, trialOf } from './jobs.ts'

onBothDatabases('listeners', (kit: Kit) => {
  let made = 0
  /** Evaluates a model by writing a job with one trial. */
  const evaluateWith =
    (seen: string[], state: 'scored' | 'failed' = 'scored'): Evaluate =>
    async ({ model }) => {
      seen.push(model)
      const id = `eval-${++made}`
      const jobDir = join(kit.scratch, id)
      await makeJob(jobDir, { id, records: [trialOf({ task: 'a', state, model: `p/org/x` })] })
      return { jobDir }
    }
  const collect = async (request: ListenRequest) => {
    const events: ListenEvent[] = []
    const running = listen({ once: true, backoffSec: 0, ...request })
    for await (const event of running) events.push(event)
    return { events, ...(await running) }
  }
  const trained = async (registry: string, names: readonly string[]) => {
    await using database = await openRegistry(registry)
    const rest = { baseModel: null, datasets: [], agent: null, trainingType: null, run: null, startedAt: null } as const
    const more = { endedAt: null, parameters: null, createdBy: null, weightsLocation: null, wandbLink: null } as const
    await database.transaction(async (queries) => {
      for (const name of names)
        await registerTrainedModel(queries, { name, status: 'finished', ...rest, ...more }, false)
    })
  }

  test('two that race for 200 models evaluate each exactly once', async () => {
    const registry = await kit.fresh()
    const models = Array.from({ length: 200 }, (_, i) => `org/model-${i}`)
    await trained(registry, models)
    const seen: [string[], string[]] = [[], []]
    // They all share one job: this test is about who takes which model.
    const job = await makeJob(join(kit.scratch, 'shared'), { id: 'shared', records: [trialOf({ task: 'a' })] })
    const evaluate =
      (mine: string[]): Evaluate =>
      async ({ model }) => {
        mine.push(model)
        return { jobDir: job }
      }
    const both = seen.map((mine) => collect({ registry, benchmark: 'bench', evaluate: evaluate(mine), concurrency: 4 }))
    const results = await Promise.all(both)
    expect(seen.flat().sort()).toEqual([...models].sort())
    expect(seen.every((mine) => mine.length > 0)).toBe(true)
    // The one that ends first may leave the other's last model running.
    expect(Math.max(...results.map(({ counts }) => counts.done ?? 0))).toBe(200)
    expect(await findLeaders({ registry })).toHaveLength(200)
    const again: string[] = []
    await collect({ registry, benchmark: 'bench', evaluate: evaluate(again) })
    expect(again).toEqual([])
  })

  test('what is only missing now is tried again, and what the user gave wrong is not', async () => {
    for (const [exitCode, tries] of [
      [3, 2],
      [2, 1],
    ] as const) {
      const registry = await kit.fresh()
      await trained(registry, ['org/one'])
      let tried = 0
      const evaluate = async () => {
        tried++
        throw new UserError('the smoke trial failed at the model', 'look at its job', exitCode)
      }
      const { counts } = await collect({ registry, benchmark: 'bench', evaluate, maxAttempts: 2 })
      expect([tried, counts]).toEqual([tries, { failed: 1 }])
    }
  })

  test('a failure is tried again within its budget, and its reason is kept', async () => {
    const registry = await kit.fresh()
    await trained(registry, ['org/weak'])
    const seen: string[] = []
    const evaluate = evaluateWith(seen, 'failed')
    const { events, counts } = await collect({ registry, benchmark: 'bench', evaluate, maxAttempts: 2 })
    expect(seen).toEqual(['org/weak', 'org/weak'])
    expect(events.filter(({ kind }) => kind === 'failed')).toMatchObject([{ retrySec: 0 }, { retrySec: null }])
    expect(counts).toEqual({ failed: 1 })
    expect(
      await numberOf(
        registry,
        "SELECT count(*) FROM evaluation_leases WHERE reason LIKE 'the result is partial: 1 failed%'",
      ),
    ).toBe(1)
    expect(await findLeaders({ registry })).toEqual([])
  })

  test('a failure waits before it is tried again', async () => {
    const registry = await kit.fresh()
    await trained(registry, ['org/weak'])
    const seen: string[] = []
    const evaluate = evaluateWith(seen, 'failed')
    for (const _ of [1, 2]) await collect({ registry, benchmark: 'bench', evaluate, backoffSec: 3600 })
    expect(seen).toEqual(['org/weak'])
  })

  test('models that are discovered are evaluated too, and one with a result is not', async () => {
    const registry = await kit.fresh()
    const seen: string[] = []
    const request = { registry, benchmark: 'bench@2', evaluate: evaluateWith(seen) }
    await collect({ ...request, discover: async () => ['hub/one', 'hub/two', 'hub/one'] })
    await collect({ ...request, discover: async () => ['hub/one', 'hub/three'] })
    expect(seen.sort()).toEqual(['hub/one', 'hub/three', 'hub/two'])
  })

  test('a model whose listener died is taken by another, which the first one notices', async () => {
    const registry = await kit.fresh()
    await using database = await openRegistry(registry)
    const benchmarkId = await database.transaction(async (queries) => {
      const { registerBenchmark } = await import('../../src/registry/entities.ts')
      const id = await registerBenchmark(queries, { name: 'bench', version: '' }, false)
      await queueModels(queries, id, [await registerModel(queries, 'org/one', false)])
      return id
    })
    const terms = { leaseSec: 600, maxAttempts: 2 }
    const first = await takeLease(database, benchmarkId, 'first', terms)
    expect(first).toMatchObject({ model: 'org/one', attempt: 1 })
    expect(await takeLease(database, benchmarkId, 'second', terms)).toBeNull()
    expect(first && (await renewLease(database, first, 600))).toBe(true)
    const die = () => database.run(sql`UPDATE evaluation_leases SET leased_until = '2000-01-01T00:00:00.000000Z'`)
    await die()
    const second = await takeLease(database, benchmarkId, 'second', terms)
    expect(second).toMatchObject({ model: 'org/one', attempt: 2 })
    expect(first && (await renewLease(database, first, 600))).toBe(false)
    await die()
    expect(await takeLease(database, benchmarkId, 'third', terms)).toBeNull()
    expect(await countLeases(database, benchmarkId)).toEqual({ failed: 1 })
  })

  test('a listener that cannot continue stops its evaluations before it ends', async () => {
    const registry = await kit.fresh()
    await trained(registry, ['org/one', 'org/two'])
    const stopped: string[] = []
    let last = () => {}
    const both = new Promise<void>((resolve) => {
      last = resolve
    })
    const evaluate: Evaluate = async ({ model, signal }) => {
      if (model === 'org/two') {
        last()
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        stopped.push(model)
        signal.throwIfAborted()
      }
      await both
      await using database = await openRegistry(registry)
      await database.script('ALTER TABLE evaluation_leases RENAME TO gone')
      return { jobDir: '' }
    }
    await expect(collect({ registry, benchmark: 'bench', evaluate, concurrency: 2 })).rejects.toThrow(
      /evaluation_leases/,
    )
    expect(stopped).toEqual(['org/two'])
  })

  test('a listener that is stopped releases its model without a lost attempt', async () => {
    const registry = await kit.fresh()
    await trained(registry, ['org/one'])
    const controller = new AbortController()
    const evaluate: Evaluate = async ({ signal }) => {
      controller.abort()
      signal.throwIfAborted()
      return { jobDir: '' }
    }
    const { counts } = await listen({ registry, benchmark: 'bench', evaluate }, { signal: controller.signal })
    expect(counts).toEqual({ waiting: 1 })
    expect(await numberOf(registry, 'SELECT attempts FROM evaluation_leases')).toBe(0)
  })
})
