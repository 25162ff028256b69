import { Command } from '@commander-js/extra-typings'
import { chooseCluster, loadClusters } from '../../../app/launch/clusters.ts'
import { printJson, printTable } from '../../output.ts'

/** `ot-agent launch cluster list`: lists the clusters that have a file. */
export default () =>
  new Command()
    .description('Lists the known clusters, and says which one this machine belongs to.')
    .option('--json', 'print the result as JSON')
    .action(async ({ json }) => {
      const all = await loadClusters()
      const here = (await chooseCluster(undefined)).cluster.name
      if (json)
        return printJson({
          schema: 'clusters/1',
          here,
          clusters: all.map(({ cluster, file }) => ({ ...cluster, file })),
        })
      printTable(
        ['', 'cluster', 'nodes', 'GPUs', 'internet', 'description'],
        all.map(({ cluster }) => [
          cluster.name === here ? '*' : '',
          cluster.name,
          String(cluster.nodes),
          `${cluster.gpusPerNode}${cluster.gpuType === undefined ? '' : ` x ${cluster.gpuType}`}`,
          cluster.internetOnComputeNodes ? 'yes' : 'no',
          cluster.summary,
        ]),
      )
    })
