import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { someTrace } from '../../../../test/recipe-traces.ts'
import type { SqlFilter } from '../../../core/stage.ts'
import { SqlDatabase } from '../../../lib/duckdb.ts'
import { makeAnyStage } from '../../../plugins/make-stage.ts'
import { encodeRow, rowColumns } from '../../../store/rows/columns.ts'
import type { RecipeTrace } from '../../shared/rollout-text/trace-row.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
const sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
afterAll(async () => {
  await sql[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true })
})

/** A filter's reason for dropping a trace, from the columns it would have on disk. */
async function reasonFor(filter: string, options: object, over: Partial<RecipeTrace>): Promise<unknown> {
  const { reason } = (await makeAnyStage(`filters/rollouts/${filter}`, { ...options })) as SqlFilter
  await sql.run('DROP TABLE IF EXISTS traces')
  await sql.fill('traces', rowColumns.trace, [encodeRow('trace', someTrace(over))])
  return (await sql.rows(`SELECT (${reason}) AS reason FROM traces`))[0]?.reason
}

const turns = (...contents: string[]) =>
  contents.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))

test.each<[string, object, Partial<RecipeTrace>, string | null]>([
  ['no-timeouts', {}, {}, null],
  ['no-timeouts', {}, { exit: 'time', result: 'AgentTimeoutError', reward: 1 }, 'timeout'],
  ['no-timeouts', {}, { exit: null, result: 'AgentTimeoutError' }, 'timeout'],
  ['no-timeouts', {}, { exit: 'turns', result: null }, null],
  ['no-subagents', {}, {}, null],
  ['no-subagents', {}, { trace_source: 'summarization-1-summary' }, 'subagent'],
  ['min-turns', {}, { turns: 5 }, null],
  ['min-turns', {}, { turns: 4 }, 'too-few-turns'],
  ['min-turns', { least: 2 }, { turns: 2 }, null],
  ['min-reward', {}, { reward: 1 }, null],
  ['min-reward', {}, { reward: 0.5 }, 'reward-too-low'],
  ['min-reward', {}, { reward: Number.NaN }, 'reward-too-low'],
  ['min-reward', { least: 0.5 }, { reward: 0.5 }, null],
  ['min-reward', {}, { reward: null }, 'no-reward'],
  ['min-reward', { unverified: 'keep' }, { reward: null }, null],
  ['no-infrastructure-failures', {}, { reward: 0 }, null],
  ['no-infrastructure-failures', {}, { end: 'failed', boundary: 'sandbox', reward: null }, 'failed-sandbox'],
  ['no-infrastructure-failures', {}, { end: 'failed', boundary: null }, 'failed-unknown'],
  ['no-infrastructure-failures', {}, { end: 'failed', boundary: "x'y" }, 'failed-unknown'],
  ['no-infrastructure-failures', {}, { end: 'cancelled' }, 'cancelled'],
  ['no-truncation', {}, {}, null],
  ['no-truncation', {}, { exit: 'time' }, null],
  ['no-truncation', {}, { exit: 'turns' }, 'limit-of-turns'],
  ['no-truncation', {}, { exit: null, result: 'ContextLengthExceededError' }, 'limit-of-context'],
  ['no-truncation', {}, { conversations: turns('do it', 'ok', 'output') }, 'ends-without-answer'],
  ['no-empty-turns', {}, {}, null],
  ['no-empty-turns', {}, { conversations: [{ role: 'system', content: 's' }, ...turns('do it', 'ok')] }, null],
  ['no-empty-turns', {}, { conversations: turns('do it', ' \n\t') }, 'empty-turn'],
  ['no-empty-turns', {}, { conversations: [] }, 'no-conversation'],
  [
    'no-empty-turns',
    {},
    { conversations: [...turns('do it', 'ok'), { role: 'developer', content: 'x' }] },
    'unknown-role',
  ],
  ['no-empty-turns', {}, { conversations: [...turns('do it', 'ok'), { role: 'tool', content: '' }] }, null],
  [
    'no-empty-turns',
    {},
    { conversations: turns('do it', ''), tool_calls: [{ message: 1, id: 'a', name: 'run', arguments: '{}' }] },
    null,
  ],
  [
    'no-empty-turns',
    {},
    { conversations: turns('do it', ''), tool_calls: [{ message: 0, id: 'a', name: 'run', arguments: '{}' }] },
    'empty-turn',
  ],
  [
    'no-empty-turns',
    {},
    { conversations: [...turns('do it', 'ok'), { role: 'assistant', content: 'x' }] },
    'turns-do-not-alternate',
  ],
  ['no-empty-turns', {}, { conversations: turns('do it', 'ok').reverse() }, 'turns-do-not-alternate'],
  ['max-tokens', { most: 100, of: 'output' }, { output_tokens: 100 }, null],
  ['max-tokens', { most: 100, of: 'output' }, { output_tokens: 101 }, 'too-many-tokens'],
  ['max-tokens', { most: 100, of: 'spent' }, { input_tokens: 60, output_tokens: 41 }, 'too-many-tokens'],
  ['max-tokens', { most: 100, of: 'spent' }, { input_tokens: null, output_tokens: 41 }, 'tokens-unknown'],
])('%s %j says of %j: %s', async (filter, options, over, reason) => {
  expect(await reasonFor(filter, options, over)).toBe(reason)
})
