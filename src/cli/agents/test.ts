import { Command } from '@commander-js/extra-typings'
import { requestedEngine } from '../../app/engine/engine-request.ts'
import { several } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { askConsent } from '../../app/job/consent.ts'
import type { Agent } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { oneLine } from '../../lib/visible.ts'
import { makeAgent, makeProvider } from '../../plugins/make.ts'
import { registry } from '../../plugins/table.ts'
import { makeImportedAgent } from '../../plugins/user-modules/make-imported.ts'
import { interruptSignal } from '../interrupt.ts'
import { printJson } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { type Check, checkCompletion, checkConnection } from './check-model.ts'
import { checkTrial, type TrialToTry } from './check-trial.ts'

/** `ot-agent agents test`: does this agent load, is its model there, does it answer, can it work? */
export default () =>
  new Command()
    .description(
      'Loads an agent and tries what it needs: the server, the model, one short completion, and with --task a whole trial.\n' +
        'Ends with exit code 2 when a name or key is wrong, and 3 when the server or the trial fails.',
    )
    .argument('<agent>', 'the file of your agent, ./my-agent.ts, as --agent-import-path takes it; or a name')
    .option('-m, --model <name>', 'model for the agent')
    .option('--api-base <url>', 'where the model is served, for example http://localhost:8000/v1')
    .option('--api-key-env <name>', 'variable that holds the key of the server')
    .option('--ak, --agent-kwarg <key=value>', 'option of the agent; repeatable', several, [] as string[])
    .option('--task <dir>', 'a task for the agent to work on')
    .option('-e, --environment <sandbox>', 'kind of sandbox for the task', 'local')
    .option(
      '--pass-env <name>',
      'pass this environment variable of yours to the task if it asks for it; repeatable',
      several,
      [] as string[],
    )
    .option('--keep <dir>', "keep the trial's files in this folder")
    .option('--json', 'print the result as JSON')
    .action(async (path, options) => {
      const asked = await prepare(path, options)
      const interrupt = interruptSignal()
      try {
        await test(asked, options.json ?? false, interrupt.signal)
      } finally {
        interrupt.stop()
      }
    })

interface Options {
  readonly model?: string
  readonly apiBase?: string
  readonly apiKeyEnv?: string
  readonly agentKwarg: readonly string[]
  readonly task?: string
  readonly environment: string
  readonly passEnv: readonly string[]
  readonly keep?: string
}

interface Asked {
  readonly path: string
  readonly agent: Agent
  readonly model: string | null
  readonly apiBase: string | null
  readonly engine: Engine | null
  readonly trial: TrialToTry | null
}

/** Finds everything that is named, and refuses what cannot work, before anything is tried. */
async function prepare(path: string, options: Options): Promise<Asked> {
  const agent = await agentAt(path, parsedAssignments('--ak', options.agentKwarg))
  const { model = null, apiBase = null, keep = null } = options
  const engine = await engineFor(agent, options)
  const trial = options.task === undefined ? null : { ...(await stage(options.task, options)), keep }
  if (trial) agent.check?.(trial.task)
  return { path, agent, model, apiBase, engine, trial: trial && { ...trial, agent, engine, model } }
}

async function stage(
  taskDir: string,
  { environment, passEnv }: Options,
): Promise<Pick<TrialToTry, 'task' | 'provider'>> {
  const task = await loadTask(taskDir)
  await askConsent([task], { passEnv }, confirmAtTerminal())
  const provider = await makeProvider(environment)
  await provider.preflight()
  return { task, provider }
}

async function test(asked: Asked, json: boolean, signal: AbortSignal): Promise<void> {
  if (!json) printAbout(asked)
  const checks: Check[] = []
  for await (const check of tries(asked, signal)) {
    checks.push(check)
    if (!json) printCheck(check)
  }
  const { agent, model, apiBase } = asked
  const about = { agent: agent.name, version: agent.version, model, apiBase }
  if (json) printJson({ schema: 'agent-test/1', ...about, ok: checks.every(({ ok }) => ok), checks })
  process.exitCode = exitCodeOf(checks)
}

/** Each step needs the one before it. */
async function* tries({ engine, model, trial }: Asked, signal: AbortSignal): AsyncGenerator<Check> {
  if (engine !== null && model !== null) {
    const connection = await checkConnection(engine, signal)
    yield connection
    if (!connection.ok) return
    const completion = await checkCompletion(engine, model, signal)
    yield completion
    if (!completion.ok) return
  }
  if (trial) yield await checkTrial(trial, signal)
}

async function agentAt(path: string, kwargs: Readonly<Record<string, unknown>>): Promise<Agent> {
  return Object.hasOwn(registry.agents, path) ? makeAgent(path, kwargs) : makeImportedAgent(path, kwargs)
}

/** The engine that would serve the agent; null when it has no model and needs none. */
async function engineFor(agent: Agent, { model, apiBase, apiKeyEnv }: Options): Promise<Engine | null> {
  if (model === undefined && apiBase === undefined && !agent.needsModel) return null
  const where = {
    ...(apiBase !== undefined && { api_base: apiBase }),
    ...(apiKeyEnv !== undefined && { api_key_env: apiKeyEnv }),
  }
  // One check only: a caller that wants to wait for a server can check again.
  const made = model === undefined ? null : await requestedEngine(where, model, { healthcheck_max_attempts: 1 })
  if (made !== null) return made.engine
  const got = model === undefined ? 'none' : `${model}, with nothing that says where it is served`
  throw new UserError(
    `expected a model for ${agent.name}, got ${got}`,
    'for example: -m my-model --api-base http://localhost:8000/v1',
  )
}

function printAbout({ path, agent, model, apiBase }: Asked): void {
  const lines = [
    `Testing ${path}`,
    '',
    `Agent name:    ${oneLine(agent.name)}`,
    `Agent version: ${oneLine(agent.version)}`,
    `Model:         ${model ?? 'none'}`,
    `API base:      ${apiBase ?? 'none'}`,
    '',
    '✓ the agent loads',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

function printCheck({ ok, says, details }: Check): void {
  process.stdout.write(`${ok ? '✓' : '✗'} ${oneLine(says)}\n`)
  if (Array.isArray(details.models)) process.stdout.write(`  models: ${oneLine(details.models.join(', '))}\n`)
}

function exitCodeOf(checks: readonly Check[]): number {
  const failed = checks.find(({ ok }) => !ok)
  return failed === undefined ? 0 : failed.blame === 'user' ? 2 : 3
}
