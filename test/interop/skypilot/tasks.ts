import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Launch, LaunchJob } from '../../../src/core/launch.ts'
import { parseClusterYaml } from '../../../src/formats/cluster-yaml.ts'
import skypilot from '../../../src/schedulers/skypilot/index.ts'
import { renderTask } from '../../../src/schedulers/skypilot/render-task.ts'

/**
 * Writes task files of each kind into a folder: without and with GPUs, an array, on Kubernetes and on a cloud. Also
 * writes commands.txt: every command that the scheduler calls, one per line, its words as JSON.
 */
const [, , dir = '.'] = process.argv
const facts =
  'summary: x\nscheduler: skypilot\nnodes: 4\ngpus_per_node: 8\ngpu_type: H100\ncpus_per_node: 16\ninternet_on_compute_nodes: true\n'
const clusters = {
  pods: 'sky:\n  resources: { infra: kubernetes, image_id: "docker:node:22" }\n  volumes: { /shared: data }\n',
  cloud:
    'sky:\n  resources: { infra: aws/us-east-1, use_spot: true, disk_size: 512 }\n  file_mounts: { /shared: { source: "s3://my-bucket", mode: MOUNT } }\n  setup: npm install -g ot-agent\n',
}
const job: LaunchJob = {
  ...{ name: 'eval', jobName: 'eval', summary: 'x', place: null, array: null, restarts: 2, stopSec: 600 },
  after: [{ job: 'server', when: 'started' }],
  resources: { nodes: 1, gpusPerNode: 0, cpusPerNode: 4, memoryGb: 32, timeLimit: '1-02:00:00' },
  script: [],
}
const jobs: readonly LaunchJob[] = [
  job,
  { ...job, name: 'gpus', resources: { ...job.resources, gpusPerNode: 8, cpusPerNode: null, memoryGb: null } },
  { ...job, name: 'array', array: { size: 9, throttle: 3 } },
]
for (const [name, sky] of Object.entries(clusters)) {
  const cluster = parseClusterYaml(`name: ${name}\n${facts}${sky}`, `${name}.yaml`)
  const launch: Launch = {
    ...{ id: 'l1', jobType: 'eval', cluster, experimentsDir: "/shared/it's an experiment", jobs, files: {} },
    ...{ dependency: null },
  }
  for (const each of jobs) {
    const tasks = each.array ? [0, 3, 6] : null
    const at = { job: each, launch, scriptPath: '/shared/x y.sh', tasks, name: `${name}-${each.name}` }
    writeFileSync(join(dir, `${at.name}.yaml`), renderTask(at))
  }
}

// A `sky` that only records how it was called.
const bin = join(dir, 'bin')
mkdirSync(bin)
const commands = resolve(dir, 'commands.txt')
const program = `#!/usr/bin/env node
require('node:fs').appendFileSync(${JSON.stringify(commands)}, JSON.stringify(process.argv.slice(2)) + '\\n')
console.log('[]')
`
writeFileSync(join(bin, 'sky'), program, { mode: 0o755 })
const cluster = parseClusterYaml(`name: pods\n${facts}${clusters.pods}`, 'pods.yaml')
const launch: Launch = {
  ...{ id: 'l1', jobType: 'eval', cluster, experimentsDir: dir, jobs, files: {}, dependency: null },
}
const scheduler = skypilot.make({}, { env: { PATH: `${resolve(bin)}:${process.env.PATH}` }, stateDir: dir })
const scriptPath = resolve(dir, 'eval.sh')
const id = await scheduler.submit({ job, launch, link: 0, scriptPath, tasks: null, earlier: [] })
const submission = { job: job.name, link: 0, tasks: null, id }
await scheduler.states([submission])
await scheduler.cancel([submission])
