// Tasks x agents x attempts, four at a time, recorded in a directory that the same program continues after a crash.
// npm run example examples/02-a-job.ts [JOBS_DIR]
import { readdir } from 'node:fs/promises'
import { loadTask, makeAgent, makeProvider, openJob, parseJobConfig, runJob, sandboxAlternatives } from 'ot-agent'

const folder = 'examples/tasks'
const paths = (await readdir(folder)).slice(0, 3).map((name) => `${folder}/${name}`)
// The keys of a Harbor job file; what is left out has its default.
const asked = {
  job_name: 'oracle-and-nop',
  jobs_dir: process.argv[2] ?? 'jobs',
  tasks: paths.map((path) => ({ path })),
  agents: [{ name: 'oracle' }, { name: 'nop' }],
  environment: { type: 'local' },
}
const { config } = parseJobConfig(JSON.stringify(asked), { path: 'this example', format: 'json' })
const tasks = await Promise.all(
  config.tasks.map(async (task, i) => ({ task: await loadTask(paths[i] ?? ''), config: task })),
)

const outcome = await runJob({
  job: await openJob({ config, named: true, tasks, layout: 'harbor', invocation: process.argv }),
  provider: await makeProvider('local'),
  makeAgent: ({ name, kwargs }) => makeAgent(name ?? 'nop', kwargs),
  hooks: [],
  hostEnv: {},
  alternatives: await sandboxAlternatives(),
  signal: new AbortController().signal,
  watch: () => ({ started: () => {}, retrying: () => {}, ended: ({ name, end }) => console.error(name, end.kind) }),
})

for (const [group, ends] of outcome.liveStats.groups())
  console.log(group, ends.scored, 'scored, mean', ends.meanOverScored)
console.log(`results in ${outcome.job.dir}`)
