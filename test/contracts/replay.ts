import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/core/agent.ts'
import type { ModelClient } from '../../src/core/model.ts'
import type { RecordedTurn, ReplayVerdict } from '../../src/core/replay.ts'
import { exchangesName } from '../../src/core/task-paths.ts'
import type { TrialRecord } from '../../src/core/trial.ts'
import { readExchanges } from '../../src/formats/exchanges/read-exchanges.ts'
import { turnsOfExchanges } from '../../src/formats/exchanges/recorded-turns.ts'
import { makeTraces, type TraceOptions } from '../../src/formats/traces/make-traces.ts'
import { recordedTurns } from '../../src/formats/traces/recorded-turns.ts'
import { Tape } from '../../src/run/replay/tape.ts'
import { playTrial } from '../e2e/kit.ts'
import { agentConfig } from '../fakes/configs.ts'
import type { TaskFiles } from '../fakes/tasks.ts'

export interface Replayable {
  /** A new agent, as its plug-in makes it. */
  readonly make: () => Agent
  /** A model that makes the agent look at `/data.txt` and then write 42 to `/answer`. */
  readonly teacher: () => ModelClient
  readonly timeoutSec?: number
}

/** What the agent sees differs between runs only in clocks and random names. */
export const replayTask = (data = 'the quick brown fox'): TaskFiles => ({
  toml: 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
  files: {
    'environment/Dockerfile': 'FROM debian:12\nCOPY data.txt /data.txt\n',
    'environment/data.txt': `${data}\n`,
  },
})

/** Prints the task's data, a clock, a random name and a process. */
export const looks = 'cat /data.txt; date; date +%s; mktemp; ls -l /data.txt; sleep 0.2 & wait'

/** The laws of every agent whose conversations become training data. */
export function replayLaws(name: string, under: Replayable): void {
  describe(`${name} obeys the laws of replay`, () => {
    test('its recorded replies, played back in a fresh sandbox, lead to the same conversation and the same end', async () => {
      const first = await record(under)
      expect(first.record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'finished' } })
      expect(first.turns.length).toBeGreaterThanOrEqual(2)
      const turns = exportedTurns(first)
      expect(turns.map(({ reply }) => reply.text)).toEqual(first.turns.map(({ reply }) => reply.text))
      const again = await replay(under, turns, first.at)
      expect(verdictsOf(again)).toEqual(rowsOf(turns).map((row) => [row, { kind: 'holds' }]))
      expect(again.record.end).toEqual(first.record.end)
      expect(again.record.usage?.costUsd ?? 0).toBe(0)
    })

    test('an observation that is not the recorded one is caught, with both', async () => {
      const first = await record(under)
      const again = await replay(under, first.turns, first.at, replayTask('the quick brown dog'))
      const caught = verdictsOf(again).map(([, verdict]) => verdict)
      expect(caught).toContainEqual(
        expect.objectContaining({
          kind: 'diverged',
          expected: expect.stringContaining('fox'),
          got: expect.stringContaining('dog'),
        }),
      )
    })

    test('a conversation it never had is caught at its first turn', async () => {
      const first = await record(under)
      const turns = first.turns.map((turn) => ({
        ...turn,
        sent: turn.sent.map((message) => ({ ...message, content: message.content.replaceAll('42', '43') })),
      }))
      const again = await replay(under, turns, first.at)
      expect(verdictsOf(again)[0]?.[1]).toMatchObject({ kind: 'diverged', turn: 1 })
    })
  })
}

/** Runs the agent with its teacher and returns every recorded turn. */
async function record({ make, teacher, timeoutSec = 60 }: Replayable) {
  const at = new Date()
  const client = teacher()
  const agent = make()
  const config = { agent: agentConfig({ name: agent.name, modelName: client.model, overrideTimeoutSec: timeoutSec }) }
  const played = await playTrial({ agent, client, config, task: replayTask() })
  return { ...played, at, turns: turnsIn(played.dir) }
}

/** The turns of a trial as a dataset has them: exported, then read back from the rows. */
function exportedTurns({ record, dir }: { readonly record: TrialRecord; readonly dir: string }): RecordedTurn[] {
  const bytes = readFileSync(join(dir, 'agent', exchangesName))
  const files = [{ step: null, folder: 'agent' as const, name: exchangesName, bytes, size: bytes.length }]
  return [...makeTraces({ job: 'job', record, files }, exact)].flatMap((trace, nth) => {
    if ('drop' in trace) throw new Error(`no row: ${trace.drop.detail}`)
    const turns = recordedTurns(`row ${nth}`, JSON.parse(JSON.stringify(trace.row)))
    if (typeof turns === 'string') throw new Error(turns)
    return turns
  })
}

const exact: TraceOptions = {
  form: 'exact',
  reasoning: 'inline',
  episodes: 'last',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: false,
}

/** The turns of a trial as recorded. */
export function turnsIn(dir: string): RecordedTurn[] {
  return turnsOfExchanges(readExchanges(readFileSync(join(dir, 'agent/exchanges.jsonl'))), 'trial')
}

async function replay(
  { make, timeoutSec = 60 }: Replayable,
  turns: readonly RecordedTurn[],
  at: Date,
  task: TaskFiles = replayTask(),
) {
  const agent = make()
  const tape = new Tape({ turns, at, isCut: false }, new Date())
  const client = tape.client('fake/recorded', noFacts)
  const config = { agent: agentConfig({ name: agent.name, modelName: client.model, overrideTimeoutSec: timeoutSec }) }
  const played = await playTrial({ agent, client, config, task })
  return { ...played, verdicts: tape.verdicts(JSON.stringify(played.record.end)) }
}

const noFacts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: null,
  cacheUsdPerToken: null,
  outputUsdPerToken: null,
}

function verdictsOf({ verdicts }: { readonly verdicts: ReadonlyMap<string, ReplayVerdict> }) {
  return [...verdicts]
}

function rowsOf(turns: readonly RecordedTurn[]): string[] {
  return [...new Set(turns.map(({ row }) => row))]
}
