// Three tasks with each of two agents, in job directories. After a crash, run the same program again to resume.
// npm run example examples/02-a-job.ts [JOBS_DIR]
import { runTasks } from 'ot-agent'

const jobsDir = process.argv[2] ?? 'jobs'
for (const agent of ['oracle', 'nop']) {
  const run = runTasks({
    tasks: 'examples/tasks',
    limit: 3,
    agent,
    jobsDir,
    jobName: `three-tasks-${agent}`,
  })
  for await (const event of run) if (event.kind === 'trial-end') console.error(event.record.name, event.record.end.kind)
  const { groups, jobDir } = await run
  for (const [group, ends] of groups) console.log(group, ends.scored, 'scored, mean', ends.meanOverScored)
  console.log(`results in ${jobDir}`)
}
