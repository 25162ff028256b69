import { Command } from '@commander-js/extra-typings'
import type { Finding } from '../app/doctor/check.ts'
import { examine } from '../app/doctor/examine.ts'
import { several } from '../app/flags/values.ts'
import { copyable } from './copyable.ts'
import { interruptSignal } from './interrupt.ts'
import { note, printJson, printTable } from './output.ts'

/** `ot-agent doctor`: what this machine and account can run, and how to fix the rest. */
export default () =>
  new Command()
    .description(
      'Checks what this machine and account can run (sandboxes, engines, agents, Slurm, the Hub, databases) and says how to ' +
        'get what is missing.\n' +
        'Starts nothing and prints no secrets.',
    )
    .option('--api-base <url>', 'also check a model server, for example http://localhost:8000/v1')
    .option('--require <name>', 'exit with 3 unless this is available, for example sandbox/local; repeatable', several)
    .option('--json', 'print the result as JSON')
    .action(async ({ apiBase = null, require = [], json = false }) => {
      const interrupt = interruptSignal()
      try {
        const { findings, absent } = await examine({ apiBase, require }, interrupt.signal)
        show(findings, json)
        for (const name of absent) note(`${name} is required and missing`)
        if (absent.length > 0) process.exitCode = 3
      } finally {
        interrupt.stop()
      }
    })

function show(findings: readonly Finding[], json: boolean): void {
  const line = ({ state, name, what, cure }: Finding) => [
    state,
    name,
    cure === null ? what : `${what} (${copyable(cure)})`,
  ]
  if (json) printJson({ schema: 'doctor/1', findings })
  else printTable(['state', 'name', 'found'], findings.map(line))
}
