import { definePipeline, z } from 'ot-agent'
import { shape } from './shape.ts'

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

/** Published conversations between agents and users: the user's task, and the number that was its answer. */
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
