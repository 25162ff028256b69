// One agent, one task, one sandbox: from instruction to reward.
// npm run example examples/01-one-trial.ts [TASK_DIR]
import { tmpdir } from 'node:os'
import { runTasks } from 'ot-agent'

const tasks = process.argv[2] ?? 'examples/tasks/csv-to-json'
const run = runTasks({ tasks, agent: 'oracle', sandbox: 'local', jobsDir: `${tmpdir()}/jobs` })

// A trial never throws for what happens in it: it is scored, failed with the responsible part named, or cancelled.
for await (const event of run) {
  if (event.kind !== 'trial-end') continue
  const { task, end, isolation } = event.record
  console.log(`${task.name}: ${JSON.stringify(end.kind === 'scored' ? end.rewards : end)}`)
  console.log(`the tests were ${isolation} from the agent`)
}
console.log(`its files are in ${(await run).jobDir}`)
