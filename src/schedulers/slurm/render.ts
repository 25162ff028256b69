import type { Launch, LaunchJob } from '../../core/launch.ts'

/** The whole script of a job: the Slurm directives, then the commands. */
export function renderSbatch(job: LaunchJob, launch: Launch): string {
  const directives = directivesOf(job, launch).map((directive) => `#SBATCH ${directive}`)
  const pieces = job.script.map(({ about, lines }) => [`# ${about}`, ...lines].join('\n'))
  return `${['#!/bin/bash', directives.join('\n'), ...pieces].join('\n\n').replace('\n\n', '\n')}\n`
}

function directivesOf(job: LaunchJob, { cluster, experimentsDir }: Launch): string[] {
  const { resources, array } = job
  const other = job.place === 'internet' ? cluster.internetJobs : resources.gpusPerNode === 0 ? cluster.cpuJobs : {}
  const { account, partition, qos, excludeNodes } = { ...cluster, ...defined(other ?? {}) }
  const pairs: (readonly [string, string | number | null | undefined])[] = [
    ['job-name', job.jobName],
    ['output', `${experimentsDir}/logs/${array ? '%x_%A_%a' : '%x_%j'}.out`],
    ['account', account],
    ['partition', partition],
    ['qos', qos],
    ['constraint', cluster.constraint],
    ['nodes', resources.nodes],
    ['ntasks-per-node', 1],
    ...sizesOf(job, launchSizes(cluster)),
    ['time', resources.timeLimit],
    ['exclude', excludeNodes && excludeNodes.length > 0 ? excludeNodes.join(',') : null],
    ['array', array && `0-${array.size - 1}%${array.throttle}`],
    ['signal', `B:USR1@${job.stopSec}`],
    ['open-mode', 'append'],
  ]
  const given = pairs.filter(([, value]) => value !== null && value !== undefined)
  return [
    ...given.map(([name, value]) => `--${name}=${directiveValue(String(value))}`),
    '--requeue',
    ...cluster.extraDirectives,
  ]
}

function launchSizes({ wholeNodes, gpuRequest }: Launch['cluster']) {
  return { wholeNodes, gpuRequest }
}

/** Clusters that allocate whole nodes refuse requests for part of one. */
function sizesOf(
  { resources: { cpusPerNode, memoryGb, gpusPerNode } }: LaunchJob,
  { wholeNodes, gpuRequest }: Pick<Launch['cluster'], 'wholeNodes' | 'gpuRequest'>,
): (readonly [string, string | number | null])[] {
  const gpus: (readonly [string, string | number])[] =
    gpusPerNode === 0 || gpuRequest === 'none'
      ? []
      : [gpuRequest === 'gres' ? ['gres', `gpu:${gpusPerNode}`] : ['gpus-per-node', gpusPerNode]]
  return wholeNodes
    ? gpus
    : [['cpus-per-task', cpusPerNode], ['mem', memoryGb === null ? null : `${memoryGb}G`], ...gpus]
}

function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Slurm reads a value up to the first space unless it is quoted. */
function directiveValue(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll(/[\\"]/g, '\\$&').replaceAll(/\s+/g, ' ')}"` : value
}
