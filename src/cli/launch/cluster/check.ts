import { Command } from '@commander-js/extra-typings'
import { chooseCluster } from '../../../app/launch/clusters.ts'
import { findProgram } from '../../../lib/programs.ts'
import { printJson } from '../../output.ts'

interface Look {
  readonly what: string
  readonly ok: boolean
  readonly says: string
}

/** The programs that submit jobs to a scheduler. */
function programsOf(scheduler: string): readonly string[] {
  if (scheduler === 'slurm') return ['sbatch', 'squeue', 'scancel']
  return scheduler === 'skypilot' ? ['sky'] : ['bash']
}

/** `ot-agent launch cluster check`: shows a cluster's file, and checks what can be verified from here. */
export default () =>
  new Command()
    .description(
      'Reads a cluster file and checks it against this machine: its scheduler and directories. Submits nothing.',
    )
    .argument('[cluster]', 'a name or a file (default: the one this machine belongs to)')
    .option('--json', 'print the result as JSON')
    .action(async (asked, { json }) => {
      const { cluster, file, how } = await chooseCluster(asked)
      const looks: Look[] = [{ what: 'file', ok: true, says: `${file} is well formed (${how})` }]
      for (const program of programsOf(cluster.scheduler)) {
        const path = findProgram(program)
        looks.push({ what: program, ok: path !== null, says: path ?? 'not on this machine' })
      }
      for (const [name, value] of Object.entries(cluster.directories)) {
        const missing = [...value.matchAll(/\$\{?(\w+)/g)]
          .map(([, variable = '']) => variable)
          .filter((each) => !process.env[each])
        looks.push({
          what: name,
          ok: missing.length === 0,
          says: missing.length === 0 ? value : `${value}: ${missing.join(', ')} is not set`,
        })
      }
      if (cluster.scheduler === 'slurm' && cluster.account === undefined)
        looks.push(
          cluster.accountRequired
            ? {
                what: 'account',
                ok: false,
                says: 'none; launches need --account, or `account` in your own cluster file',
              }
            : { what: 'account', ok: true, says: 'none; pass --account if the cluster needs one' },
        )
      const ok = looks.every((look) => look.ok)
      if (json) printJson({ schema: 'cluster-check/1', cluster: cluster.name, ok, looks })
      else for (const look of looks) process.stdout.write(`${look.ok ? '✓' : '✗'} ${look.what}: ${look.says}\n`)
      if (!ok) process.exitCode = 3
    })
