import { defineRecipe, type TypedStage } from 'ot-agent'

/** Kinds of tasks that no student is trained on. */
export const unseen = ['flatten', 'rank-in-group', 'dead-references', 'pivot-count', 'render-template']

/** The domains of these studies: with more domains, the same seeds would give other tasks. */
export const domains =
  'archives,checksums,clinic,config,dates,docs,encoding,energy,farming,files,inventory,library,links,network,payroll,permissions,sales,school,scripts,sensors,text,tickets,transport'.split(
    ',',
  )

/** Turns tasks into a dataset: one rollout each by the stand-in, keeping the traces that solved them. */
export const traced: readonly TypedStage[] = [
  {
    id: 'rollout',
    use: 'rollouts/agent',
    with: {
      teacher: { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } },
      agent: 'terminus-2',
      sandbox: 'local',
      concurrency: 8,
    },
  },
  { id: 'solved', use: 'filters/rollouts/min-reward', with: { least: 1 } },
  { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0, formats: ['jsonl'] } },
]

/** Traces of composed tasks for students of trainers/small. All task directory names end in four-digit numbers. */
export default defineRecipe({
  name: 'student',
  seed: 7,
  stages: [
    {
      id: 'composer',
      use: 'sources/pipeline',
      with: {
        pipeline: 'terminal-composer',
        args: { first: 1000, count: 3160, domains, without: unseen, wrong: 0, check: false },
      },
    },
    ...traced,
  ],
})
