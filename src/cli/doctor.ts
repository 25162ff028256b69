import { setMaxListeners } from 'node:events'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../core/errors.ts'
import { pluginContext } from '../plugins/make.ts'
import { type Check, type Finding, runCheck, type Surroundings } from './doctor/check.ts'
import { databaseChecks } from './doctor/database-checks.ts'
import { machineChecks } from './doctor/machine-checks.ts'
import { pluginChecks } from './doctor/plugin-checks.ts'
import { interruptSignal } from './interrupt.ts'
import { note, printJson, printTable } from './output.ts'

/** `ot-agent doctor`: what this machine and account can run, and what to do about the rest. */
export default () =>
  new Command()
    .description(
      'Says what this machine and account can run: sandboxes, engines, agents, Slurm, the Hub, databases; and how to get what is missing.\n' +
        'It starts nothing and prints no secret.',
    )
    .option('--api-base <url>', 'also try a model server, for example http://localhost:8000/v1')
    .option(
      '--require <name>',
      'exit with 3 unless this is available, for example sandbox/local; repeatable',
      (text: string, before: string[] = []) => [...before, text],
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ apiBase, require = [], json = false }) => {
      const checks = [...machineChecks, ...databaseChecks, ...pluginChecks()]
      const required = require.map((name) => findCheck(name, checks))
      const interrupt = interruptSignal()
      setMaxListeners(0, interrupt.signal)
      const { env, stateDir } = pluginContext()
      const at: Surroundings = { env, stateDir, apiBase: apiBase ?? null, signal: interrupt.signal }
      try {
        const findings = await Promise.all(checks.map((check) => runCheck(check, at)))
        const absent = required.filter((check) => stateOf(check, findings) === 'missing')
        show(findings, json)
        for (const { name } of absent) note(`${name} is required and missing`)
        if (absent.length > 0) process.exitCode = 3
      } finally {
        interrupt.stop()
      }
    })

/** By its whole name, or by its last part where only one has that. */
function findCheck(name: string, checks: readonly Check[]): Check {
  const found = checks.filter((check) => check.name === name || check.name.endsWith(`/${name}`))
  if (found.length === 1 && found[0]) return found[0]
  throw new UserError(
    `--require: expected the name of one check, got ${JSON.stringify(name)}, which names ${found.length}`,
    `known: ${checks.map((check) => check.name).join(', ')}`,
  )
}

function stateOf({ name }: Check, findings: readonly Finding[]): Finding['state'] | undefined {
  return findings.find((finding) => finding.name === name)?.state
}

function show(findings: readonly Finding[], json: boolean): void {
  const line = ({ state, name, what, cure }: Finding) => [state, name, cure === null ? what : `${what} (${cure})`]
  if (json) printJson({ schema: 'doctor/1', findings })
  else printTable(['state', 'name', 'found'], findings.map(line))
}
