// Plans a launch on a cluster and prints what would be submitted. Without `dryRun` it is submitted.
// npm run example examples/07-a-launch.ts
import { launch } from 'ot-agent'

const { plan } = await launch({
  jobType: 'datagen',
  datagenScript: 'data/nl2bash/generate.ts',
  datagenTargetRepo: 'org/tasks',
  datagenExtraArgs: ['--limit', '200'],
  cluster: 'vista',
  account: 'my-project',
  timeLimit: '02:00:00',
  dryRun: true,
})

for (const note of plan.notes) console.log('note:', note)
for (const { name, summary, resources } of plan.launch.jobs) console.log(`${name}: ${summary}, ${resources.timeLimit}`)
for (const command of plan.commands) console.log(command.split(' ')[0], '...')
