import { defineRecipe } from 'ot-agent'

/**
 * New tasks from domains and of kinds that the student has learned: it was trained on tasks with numbers below 9000.
 */
const tasks = {
  pipeline: 'terminal-composer',
  args: {
    check: false,
    first: 9000,
    count: 6,
    domains:
      'archives,checksums,clinic,config,dates,docs,encoding,energy,farming,files,inventory,library,links,network,payroll,permissions,sales,school,scripts,sensors,text,tickets,transport'.split(
        ',',
      ),
    without: ['flatten', 'rank-in-group', 'dead-references', 'pivot-count', 'render-template'],
  },
}

/**
 * The part of the demo with a model. The stand-in shows that the tasks can be solved; the student solves them,
 * sometimes wrongly, and filters drop those traces.
 */
export default defineRecipe({
  name: 'demo-student',
  summary:
    'The stand-in, then a small model of this package solve the same new tasks; wrong traces of the model are dropped',
  seed: 7,
  stages: [
    { id: 'tasks', use: 'sources/pipeline', with: tasks },
    {
      id: 'stand-in',
      use: 'rollouts/pass-rate',
      with: {
        teacher: { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } },
        attempts: 1,
        agent: 'terminus-2',
        sandbox: 'local',
      },
    },
    {
      id: 'student',
      use: 'rollouts/agent',
      with: {
        teacher: { model: 'llama/composer-6m', engine: 'llama' },
        agent: { name: 'terminus-2', options: { temperature: 0, max_turns: 12 } },
        sandbox: 'local',
      },
    },
    { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 3 } },
    { id: 'loops', use: 'filters/rollouts/no-loops' },
    { id: 'solved', use: 'filters/rollouts/min-reward' },
    { id: 'dataset', use: 'exporters/sharegpt' },
  ],
})
