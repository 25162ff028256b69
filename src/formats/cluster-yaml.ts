import { z } from 'zod'
import type { Cluster } from '../core/cluster.ts'
import { messageOf, UserError } from '../core/errors.ts'
import { nearest } from '../lib/nearest.ts'
import { readYaml } from '../lib/read-yaml.ts'

const text = z.string().min(1)
const time = z.string().regex(/^(\d+-)?\d{1,3}:\d{2}:\d{2}$/, 'expected a time such as 24:00:00 or 2-00:00:00')
const pattern = text.refine(isPattern, 'expected a regular expression')
const variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of a variable'), z.string())

const placement = z.strictObject({ partition: text.optional(), qos: text.optional(), account: text.optional() })

const schema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/, 'expected lower-case letters, digits and dashes'),
  summary: text,
  scheduler: z
    .union(
      [z.enum(['slurm', 'skypilot', 'local']), z.string().regex(/^(\.{0,2}\/|npm:)/)],
      'expected slurm, skypilot, local or a file of your own',
    )
    .default('slurm'),
  hosts: z.array(pattern).default([]),
  host_variables: variables.default({}),
  account: text.optional(),
  account_required: z.boolean().default(false),
  partition: text.optional(),
  qos: text.optional(),
  constraint: text.optional(),
  nodes: z.int().positive(),
  gpus_per_node: z.int().nonnegative(),
  gpu_type: text.optional(),
  gpu_request: z.enum(['gres', 'gpus-per-node', 'none']).default('gres'),
  cpus_per_node: z.int().positive(),
  memory_per_node_gb: z.int().positive().optional(),
  whole_nodes: z.boolean().default(false),
  internet_on_compute_nodes: z.boolean(),
  proxy: variables.default({}),
  ssh_tunnel: z
    .strictObject({
      // A host that starts with a dash would be parsed as an ssh option.
      host: z.string().regex(/^[A-Za-z0-9_][\w.@-]*$/, 'expected a host such as login01 or me@login01'),
      port: z.int().min(1).max(65535).optional(),
      identity: text.optional(),
      forward: z
        .string()
        .regex(/^[\w.-]+:\d{1,5}$/, 'expected the host and port of a proxy, such as proxy:3128')
        .optional(),
    })
    .optional(),
  ray: z
    .strictObject({
      temp_dir: z
        .string()
        .regex(/^[/$][^\s'"\\]*$/, 'expected an absolute path')
        .max(60, 'expected a short path: Ray keeps sockets below it')
        .optional(),
      object_store_gb: z.number().positive().optional(),
      memory_gb: z.number().positive().optional(),
    })
    .optional(),
  modules: z.array(text).default([]),
  container_runtime: z.enum(['apptainer', 'singularity', 'none']).default('none'),
  exclude_nodes: z.array(text).default([]),
  time_limit: time.default('24:00:00'),
  max_time_limit: time.optional(),
  directories: z
    .strictObject({
      scratch: text.optional(),
      models: text.optional(),
      datasets: text.optional(),
      checkpoints: text.optional(),
      tokenized: text.optional(),
    })
    .default({}),
  cpu_jobs: placement.optional(),
  internet_jobs: placement.optional(),
  extra_directives: z.array(z.string().startsWith('--')).default([]),
  sky: z
    .strictObject({
      resources: z.record(z.string(), z.unknown()).optional(),
      file_mounts: z.record(z.string().startsWith('/'), z.unknown()).optional(),
      volumes: z.record(z.string().startsWith('/'), z.unknown()).optional(),
      setup: text.optional(),
    })
    .transform(({ file_mounts: fileMounts, ...rest }) => ({ ...rest, ...(fileMounts && { fileMounts }) }))
    .optional(),
  environment: variables.default({}),
  activate: z.array(text).default([]),
})

/** Reads a file of facts about a cluster; `file` is for messages. */
export function parseClusterYaml(source: string, file: string): Cluster {
  const parsed = schema.safeParse(readDocument(source, file))
  if (!parsed.success) throw complaint(parsed.error.issues, file)
  const { host_variables, gpus_per_node, gpu_type, gpu_request, cpus_per_node, memory_per_node_gb, ...rest } =
    parsed.data
  const { whole_nodes, internet_on_compute_nodes, container_runtime, exclude_nodes, time_limit, ...more } = rest
  const { account_required, max_time_limit, cpu_jobs, internet_jobs, extra_directives, ssh_tunnel, ray, ...same } = more
  return {
    ...same,
    ...(account_required && { accountRequired: true }),
    ...(ssh_tunnel && { sshTunnel: ssh_tunnel }),
    ...(ray && { ray: { tempDir: ray.temp_dir, objectStoreGb: ray.object_store_gb, memoryGb: ray.memory_gb } }),
    hostVariables: host_variables,
    gpusPerNode: gpus_per_node,
    gpuType: gpu_type,
    gpuRequest: gpu_request,
    cpusPerNode: cpus_per_node,
    memoryPerNodeGb: memory_per_node_gb,
    wholeNodes: whole_nodes,
    internetOnComputeNodes: internet_on_compute_nodes,
    containerRuntime: container_runtime,
    excludeNodes: exclude_nodes,
    timeLimit: time_limit,
    maxTimeLimit: max_time_limit,
    cpuJobs: cpu_jobs,
    internetJobs: internet_jobs,
    extraDirectives: extra_directives,
  }
}

/** The cluster whose login node has this name or these variables; undefined if none matches. */
export function detectCluster(
  clusters: readonly Cluster[],
  host: string,
  env: Readonly<Record<string, string | undefined>>,
): Cluster | undefined {
  return clusters.find(
    ({ hosts, hostVariables }) =>
      hosts.some((each) => new RegExp(`^(?:${each})$`).test(host)) ||
      (Object.keys(hostVariables).length > 0 &&
        Object.entries(hostVariables).every(([name, value]) => env[name] === value)),
  )
}

function readDocument(source: string, file: string): unknown {
  try {
    return readYaml(source)
  } catch (error) {
    throw new UserError(
      `${file} is not YAML: ${messageOf(error).split('\n')[0]}`,
      'ot-agent launch cluster init writes one to start from',
    )
  }
}

function complaint(issues: readonly z.core.$ZodIssue[], file: string): UserError {
  // A misspelled field explains the missing one.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const at = issue?.path.join('.') || 'the file'
  if (issue?.code !== 'unrecognized_keys')
    return new UserError(`${file}: ${at}: ${issue?.message ?? 'not valid'}`, 'docs/guides/launch.md lists every field')
  const [key = ''] = issue.keys
  const near = nearest(key, Object.keys(schema.shape))
  return new UserError(
    `${file}: unknown field ${JSON.stringify(key)}`,
    near ? `did you mean ${near}?` : 'docs/guides/launch.md lists every field',
  )
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source)
    return true
  } catch {
    return false
  }
}
