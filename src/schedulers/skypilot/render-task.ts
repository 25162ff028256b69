import { UserError } from '../../core/errors.ts'
import type { Launch, LaunchJob } from '../../core/launch.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { shellQuote } from '../../lib/shell.ts'
import { secondsOf } from '../../lib/time-limit.ts'
import { driveScript } from '../shared/drive-script.ts'

/** One SkyPilot job: a job of a launch, or those tasks of its array that run one after another on one machine. */
export interface SkyJob {
  readonly job: LaunchJob
  readonly launch: Launch
  readonly scriptPath: string
  /** Null for a job that is no array. */
  readonly tasks: readonly number[] | null
  readonly name: string
}

/** The task file for `sky jobs launch`. It holds no keys: scripts read the key file in place. */
export function renderTask({ job, launch, scriptPath, tasks, name }: SkyJob): string {
  const { resources: own = {}, fileMounts, volumes, setup } = launch.cluster.sky ?? {}
  const task = {
    name,
    num_nodes: 1,
    resources: { ...sizesOf(job, launch), ...own },
    ...(fileMounts && { file_mounts: fileMounts }),
    ...(volumes && { volumes }),
    ...(setup !== undefined && { setup }),
    run: runOf({ job, launch, scriptPath, tasks }),
  }
  // Otherwise the YAML folds long lines of the script.
  return renderYaml(task, { lineWidth: 0 })
}

/** SkyPilot has no dependencies, restarts or time limits: the job itself waits for marks, restarts and stops. */
function runOf({ job, launch, scriptPath, tasks }: Omit<SkyJob, 'name'>): string {
  const log = `${launch.experimentsDir}/logs/${job.jobName}.out`
  const alone = job.array ? { ...job, array: { ...job.array, throttle: 1 } } : job
  const driver = driveScript(alone, launch, scriptPath, tasks)
  const limitSec = secondsOf(job.resources.timeLimit)
  const stopSec = Math.min(job.stopSec, limitSec - 1)
  return [
    `mkdir -p ${shellQuote(`${launch.experimentsDir}/logs`)}`,
    `exec > >(tee -a ${shellQuote(log)}) 2>&1`,
    `timeout --signal=USR1 --kill-after=${stopSec} ${limitSec - stopSec} bash -c ${shellQuote(driver)}`,
  ].join('\n')
}

function sizesOf(job: LaunchJob, { cluster }: Launch): Record<string, unknown> {
  const { nodes, gpusPerNode, cpusPerNode, memoryGb } = job.resources
  if (nodes > 1)
    throw new UserError(
      `${job.name}: expected one node, got ${nodes}: jobs of several nodes need Slurm`,
      'request one node with more GPUs, or use a cluster with Slurm',
    )
  if (gpusPerNode > 0 && cluster.gpuType === undefined)
    throw new UserError(
      `cluster ${cluster.name}: expected gpu_type, because ${job.name} needs GPUs, got none`,
      'set one that `sky show-gpus` lists, such as gpu_type: H100',
    )
  return {
    ...(gpusPerNode > 0 && { accelerators: `${cluster.gpuType}:${gpusPerNode}` }),
    ...(cpusPerNode !== null && { cpus: `${cpusPerNode}+` }),
    ...(memoryGb !== null && { memory: `${memoryGb}+` }),
  }
}
