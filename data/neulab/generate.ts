import { definePipeline, type RawRow, z } from 'ot-agent'

const subsets = [
  'agenttuning_alfworld',
  'agenttuning_db',
  'agenttuning_kg',
  'agenttuning_mind2web',
  'agenttuning_os',
  'agenttuning_webshop',
  'code_feedback',
  'codeactinstruct',
  'go-browse-wa',
  'mind2web',
  'nebius_SWE-agent-trajectories',
  'nnetnav-live',
  'nnetnav-wa',
  'openhands',
  'orca_agentinstruct',
  'SWE-Gym_OpenHands-Sampled-Trajectories',
  'SWE-smith_5kTrajectories',
  'synatra',
] as const
const row = z.object({ conversations: z.array(z.object({ from: z.string(), value: z.string() })).min(2) })

/** Conversations of agents with their users, collected by others: the user's task, and the number it came to. */
export default definePipeline({
  name: 'neulab',
  summary: 'First messages of collected agents’ conversations: their number is compared, or a model judges',
  options: z.strictObject({
    subset: z
      .enum(subsets)
      .default('codeactinstruct')
      .describe(`one of ${subsets.join(', ')}`),
    kind: z
      .enum(['number', 'any'])
      .default('number')
      .describe(
        'number: rows that end with a number, which is compared; any: all rows, judged by criteria that a model writes',
      ),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: {
      use: 'sources/hub',
      with: ({ options: { subset } }) => ({
        repo: 'neulab/agent-data-collection',
        config: subset,
        id: 'id',
        source: subset,
      }),
    },
  },
  needsModel: ({ kind }) => kind === 'any',
  split: (given) => [shape(given)],
  make: {
    use: ({ options: { kind } }) => (kind === 'any' ? 'makers/judged' : 'makers/row-template'),
    with: ({ options: { kind } }) => ({
      ...{ pipeline: 'neulab', instruction: '{{task}}' },
      ...(kind === 'number' && { answer: { field: 'solution', check: 'number' } }),
    }),
  },
})

const ownWorld =
  /https?:\/\/|\bweb ?page\b|\bbrowser\b|\brepository\b|\/workspace\b|\byou are in (?:a|the)\b|\bthe (?:database|system|server|os|current directory)\b/i

/** What the user wants, without how the original agent was told to talk; an empty solution leaves nothing to check by. */
function shape(given: RawRow): RawRow {
  const parsed = row.safeParse(given.fields)
  if (!parsed.success) return given
  const { conversations } = parsed.data
  const isUser = ({ from }: { from: string }) => from === 'human' || from === 'user'
  const first = conversations.find(isUser)?.value ?? ''
  const task =
    first
      .replace(/^\s*(?:task|question)\s*:\s*/i, '')
      .split(/\n\s*(?:you (?:should|must|can) (?:first|use|write)|your answer should)\b/i)[0]
      ?.trim() ?? ''
  const last = conversations.filter((turn) => !isUser(turn)).at(-1)?.value ?? ''
  const solution = /<solution>\s*([\s\S]*?)\s*<\/solution>|final answer(?: is)?:?\s*(\S+)/i.exec(last)
  const isWrong = conversations.slice(-1).some((turn) => isUser(turn) && /\b(?:wrong|incorrect)\b/i.test(turn.value))
  const counts = solution !== null && !isWrong && !ownWorld.test(first)
  return { ...given, fields: { task, solution: counts ? (solution[1] ?? solution[2] ?? '') : '' } }
}
