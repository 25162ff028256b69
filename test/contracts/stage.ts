import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ModelClient } from '../../src/core/model.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import {
  type Dropped,
  isDropped,
  type MapStage,
  type RowFilter,
  type Source,
  type StageContext,
} from '../../src/core/stage.ts'
import { streamOf } from '../../src/core/stream-stage.ts'
import { canonicalJson } from '../../src/lib/digest-json.ts'

export interface StageUnderTest {
  /** A new stage, as its plug-in makes it. */
  readonly make: () => Promise<Source | MapStage<never, unknown>>
  /** Rows it can process; none for a source. */
  readonly rows: readonly unknown[]
  readonly model?: ModelClient
  readonly sandboxes?: SandboxProvider
}

/** The laws of every stage. */
export function stageLaws(name: string, { make, rows, model, sandboxes }: StageUnderTest): void {
  const at = { ...(model && { model }), ...(sandboxes && { sandboxes }) }

  describe(`${name} obeys the laws of stages`, () => {
    test('gives the same for the same rows and seed, every time', async () => {
      const once = await runStage(await make(), rows, at)
      expect(once.length).toBeGreaterThan(0)
      expect((await runStage(await make(), rows, at)).map(canonicalJson)).toEqual(once.map(canonicalJson))
    })

    test('gives each row once, under a name of its own, and a reason for each it drops', async () => {
      const given = await runStage(await make(), rows, at)
      const names = given.filter((row) => !isDropped(row)).map(nameOf)
      expect(new Set(names).size).toBe(names.length)
      for (const row of given) if (isDropped(row)) expect(row.drop).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    })

    test('takes a source for what it is: no rows in, none taken', async () => {
      const stage = await make()
      if (stage.kind === 'source') expect(rows).toEqual([])
      else expect(await runStage(stage, [], at)).toEqual([])
    })

    test('stops when it is told to', async () => {
      const stop = AbortSignal.abort()
      const running = runStage(await make(), rows, { ...at, signal: stop })
      await expect(running).rejects.toMatchObject({ name: 'AbortError' })
    })
  })
}

/** Everything a stage returns for these rows, dropped rows included. */
export async function runStage<Out>(
  stage: Source<Out> | MapStage<never, Out> | RowFilter<Out>,
  rows: readonly unknown[],
  more: Partial<StageContext> = {},
): Promise<(Out | Dropped)[]> {
  const context = { ...(await makeContext()), ...more }
  const given: (Out | Dropped)[] = []
  const flow = streamOf(stage, stream(rows, context.signal), context) as AsyncIterable<Out | Dropped>
  for await (const row of flow) given.push(row)
  return given
}

async function makeContext(): Promise<StageContext> {
  const workDir = await mkdtemp(join(tmpdir(), 'ot-agent-stage-'))
  onTestFinished(() => rm(workDir, { recursive: true, force: true }))
  return { seed: 42, signal: new AbortController().signal, workDir, log: () => {} }
}

async function* stream<T>(rows: readonly T[], signal: AbortSignal): AsyncGenerator<T, void, void> {
  for (const row of rows) {
    signal.throwIfAborted()
    yield row
  }
}

function nameOf(row: unknown): string {
  const { id, name } = Object(row)
  return String(id ?? name)
}
