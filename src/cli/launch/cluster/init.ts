import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../../app/disk-errors.ts'
import { UserError } from '../../../core/errors.ts'
import { parseClusterYaml } from '../../../formats/cluster-yaml.ts'
import { exists, writeAtomic } from '../../../lib/files.ts'
import { printJson } from '../../output.ts'
import { ownClustersDir } from '../clusters.ts'

/** `ot-agent launch cluster init`: one file adds a cluster. */
export default () =>
  new Command()
    .description('Writes a file of facts about a cluster to start from. One file is all there is to add.')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .option('--out <file>', 'where to write it (default: the folder in which launches look for your clusters)')
    .option('--json', 'print the result as JSON')
    .action(async (name, { out, json }) => {
      const file = resolve(out ?? join(ownClustersDir(), `${name}.yaml`))
      if (await exists(file))
        throw new UserError(`${file} is there already`, 'edit it, or name another file with --out')
      const text = templateFor(name)
      parseClusterYaml(text, file)
      await explainDisk(file, () => writeAtomic(file, text))
      if (json) return printJson({ schema: 'cluster-init/1', file })
      process.stdout.write(`${file}\nedit it, then: ot-agent launch cluster check ${out === undefined ? name : file}\n`)
    })

function templateFor(name: string): string {
  const host = hostname().replace(/\d+$/, '').replaceAll('.', '\\.')
  return `# Facts about a cluster; docs/guides/launch.md explains every field.
name: ${name}
summary: A cluster of our own
scheduler: slurm
# Patterns of the full host names of its login nodes.
hosts: ['${host}\\d*.*']
# account: my-project
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
