import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { parseClusterYaml } from '../../formats/cluster-yaml.ts'
import { exists, writeAtomic } from '../../lib/files.ts'
import { explainDisk } from '../disk-errors.ts'
import { ownClustersDir } from './clusters.ts'

/** Writes a template for a cluster's file and returns its path. */
export async function writeNewCluster(name: string, out?: string): Promise<string> {
  const file = resolve(out ?? join(ownClustersDir(), `${name}.yaml`))
  if (await exists(file))
    throw new UserError(
      `${file}: expected a new path, but it already exists`,
      'edit it, or choose another file with --out',
    )
  const text = templateFor(name)
  parseClusterYaml(text, file)
  await explainDisk(file, () => writeAtomic(file, text))
  return file
}

function templateFor(name: string): string {
  const host = hostname().replace(/\d+$/, '').replaceAll('.', '\\.')
  return `# Facts about a cluster; docs/guides/launch.md explains every field.
name: ${name}
summary: A cluster of our own
scheduler: slurm
# Patterns of the full host names of its login nodes.
hosts: ['${host}\\d*.*']
# account: my-project
# account_required: true   # instead, where every user has another one
# partition: gpu
nodes: 4
gpus_per_node: 4
gpu_type: A100 80GB
# How GPUs are asked for: gres, gpus-per-node, or none where a node comes with all it has.
gpu_request: gres
cpus_per_node: 64
memory_per_node_gb: 512
internet_on_compute_nodes: true
# modules: [module load cuda/12.8]
# activate: [source $HOME/venv/bin/activate]
container_runtime: apptainer
time_limit: '24:00:00'
# directories: { scratch: $SCRATCH, models: $SCRATCH/models }
# cpu_jobs: { partition: cpu }
# internet_jobs: { partition: serial }   # where compute nodes have no internet and these do
`
}
