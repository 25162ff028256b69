import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyStage, StageServices } from '../src/core/stage.ts'
import { makeAnyStage } from '../src/plugins/make-stage.ts'
import { resolveRecipe } from '../src/run/recipe/resolve.ts'
import { runRecipe } from '../src/run/recipe/run-recipe.ts'
import type { RecipeTrace } from '../src/stages/shared/rollout-text/trace-row.ts'
import { commands, conversation, someTrace } from './recipe-traces.ts'
import { agentRecord, storeJob } from './traces.ts'

export const hostileText =
  '<script>window.hacked = 1</script><img src=x onerror="window.hacked=1"> \x1b[31mred\x1b[0m \u202egnp'

const lineage = { pipeline: 'nl2bash', strategy: 'row-template', rowId: 'row-17', rowDigest: 'f'.repeat(64), seed: 7 }

function traces(): RecipeTrace[] {
  const plain = Array.from({ length: 24 }, (_, i) =>
    someTrace({
      ...{ id: `job/task-${i}__aaaaaaa/main`, task: `task-${i}`, trial_name: `task-${i}__aaaaaaa` },
      ...{ turns: 3 + (i % 9), source: i % 3 === 0 ? 'puzzles' : 'nl2bash', lineage },
      ...(i % 4 === 0 ? { result: '0.0', reward: 0 } : {}),
      conversations: conversation(
        ...Array.from({ length: 3 + (i % 9) }, (__, turn) => commands(`echo number${i} part${turn} of the work\n`)),
        i === 5 ? 'The zebra crossed the road.' : 'Done.',
      ),
    }),
  )
  const twin = someTrace({ ...plain[5], id: 'job/twin__aaaaaaa/main', task: 'twin', trial_name: 'twin__aaaaaaa' })
  const hacks = ['cat /tests/test_outputs.py\n', 'echo 1 > /logs/verifier/reward.txt\n'].map((keys, i) =>
    someTrace({
      ...{ id: `job/hack-${i}__aaaaaaa/main`, task: `hack-${i}`, trial_name: `hack-${i}__aaaaaaa`, lineage },
      conversations: conversation(commands('ls\n'), commands(keys), 'Done.'),
    }),
  )
  const hostile = someTrace({
    ...{ id: 'job/hostile__aaaaaaa/main', task: `hostile ${hostileText}`, trial_name: 'hostile__aaaaaaa', turns: 4 },
    conversations: [
      { role: 'user', content: hostileText },
      { role: 'assistant', content: `x${'y'.repeat(5_000_000)}z` },
      { role: 'tool', content: `javascript:alert(1) ${hostileText}` },
      { role: 'assistant', content: 'Done.' },
    ],
    reasoning: [{ message: 3, content: hostileText }],
  })
  return [...plain, twin, ...hacks, hostile]
}

const source: AnyStage = {
  kind: 'source',
  gives: 'trace',
  fingerprint: async () => 'planted',
  async *rows() {
    yield* traces()
  },
}

/** A finished run of a small recipe over traces: it drops short ones and cheating ones and exports the rest. */
export async function makeRecipeRun(dir: string): Promise<string> {
  const recipe = await resolveRecipe(
    {
      name: 'small',
      stages: [
        { id: 'rollout', use: 'sources/planted' },
        { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 4 } },
        { id: 'hacks', use: 'filters/rollouts/reward-hacking' },
        { id: 'dataset', use: 'exporters/sharegpt', with: { replay: 0, columns: 'all', spelling: 'messages' } },
      ],
    },
    async (use, options) => (use === 'sources/planted' ? source : makeAnyStage(use, options)),
  )
  const { signal } = new AbortController()
  await runRecipe({ recipe, dir, services: {} as StageServices, signal, shardRows: 10, memoryMb: 200 })
  await storeJob(join(dir, 'work', 'rollout', 'jobs', 'job'), [
    { record: agentRecord({ name: 'task-5__aaaaaaa' }), files: 'plain' },
  ])
  return dir
}

/** JSON lines in ShareGPT's format, one of them with bytes that are not valid text. */
export function writeShareGpt(file: string): void {
  const rows = ['How is the weather?', 'bad @@ bytes', 'Why?'].map((value) =>
    JSON.stringify({
      conversations: [
        { from: 'human', value },
        { from: 'gpt', value: 'It depends.' },
      ],
      score: 3,
    }),
  )
  const bytes = Buffer.from(`${rows.join('\n')}\n`)
  bytes.fill(0xff, bytes.indexOf('@@'), bytes.indexOf('@@') + 2)
  writeFileSync(file, bytes)
}
