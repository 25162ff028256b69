// One agent, one task, one sandbox: from instruction to reward.
// npm run example examples/01-one-trial.ts [TASK_DIR]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadTask, makeAgent, makeProvider, parseTrialConfigDocument, runTrial, sandboxAlternatives } from 'ot-agent'

const task = await loadTask(process.argv[2] ?? 'examples/tasks/csv-to-json')
const dir = await mkdtemp(join(tmpdir(), 'one-trial-'))
// The keys of a Harbor trial's config.json; what is left out has its default.
const asked = { task: { path: task.dir }, trial_name: 'one-trial', agent: { name: 'oracle' } }

const record = await runTrial({
  task,
  agent: await makeAgent('oracle'),
  provider: await makeProvider('local'),
  config: parseTrialConfigDocument(asked, 'this example').config,
  jobName: 'examples',
  attempt: 0,
  retries: 0,
  dir,
  signal: new AbortController().signal,
  hooks: [({ event }) => console.error(event)],
  hostEnv: {},
  alternatives: await sandboxAlternatives(),
})

// A trial never throws for what happens in it: it is scored, failed with a boundary to blame, or cancelled.
if (record.end.kind === 'scored') console.log(`${task.name}: ${JSON.stringify(record.end.rewards)}`)
else console.log(`${task.name}: ${JSON.stringify(record.end)}`)
console.log(`the tests were ${record.isolation} from the agent; its files are in ${dir}`)
