import { Command } from '@commander-js/extra-typings'
import { type AgentTest, prepareAgentTest } from '../../app/agent-test/agent-test.ts'
import type { Check } from '../../app/engine/check-model.ts'
import { several } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { printJson } from '../output.ts'
import { exitCodeOf, printCheck } from '../print-check.ts'
import { confirmAtTerminal } from '../run/confirm.ts'

/** `ot-agent agents test`: checks that an agent loads, its model exists and answers, and it can work on a task. */
export default () =>
  new Command()
    .description(
      'Loads an agent and tries what it needs: the server, the model, one short completion, and with --task a whole trial.\n' +
        'Exits with 2 when a name or key is wrong, and with 3 when the server or the trial fails.',
    )
    .argument('<agent>', 'the file of your agent, such as ./my-agent.ts (as for --agent-import-path), or a name')
    .option('-m, --model <name>', 'model for the agent')
    .option('--api-base <url>', 'address of the model server, for example http://localhost:8000/v1')
    .option('--api-key-env <name>', 'environment variable with the API key of the server')
    .option('--ak, --agent-kwarg <key=value>', 'option of the agent; repeatable', several, [] as string[])
    .option('--task <dir>', 'a task for the agent to work on')
    .option('-e, --environment <sandbox>', 'kind of sandbox for the task', 'local')
    .option(
      '--pass-env <name>',
      'pass this environment variable to the task if it asks for it; repeatable',
      several,
      [] as string[],
    )
    .option('--keep <dir>', "keep the trial's files in this folder")
    .option('--json', 'print the result as JSON')
    .action(async (path, { agentKwarg, environment: sandbox, json = false, ...options }) => {
      const agentOptions = parsedAssignments('--ak', agentKwarg)
      const tested = await prepareAgentTest(
        { ...options, agent: path, options: agentOptions, sandbox },
        confirmAtTerminal(),
      )
      const { model = null, apiBase = null } = options
      const interrupt = interruptSignal()
      try {
        await test(tested, { path, model, apiBase, json }, interrupt.signal)
      } finally {
        interrupt.stop()
      }
    })

interface Asked {
  readonly path: string
  readonly model: string | null
  readonly apiBase: string | null
  readonly json: boolean
}

async function test(tested: AgentTest, asked: Asked, signal: AbortSignal): Promise<void> {
  const { model, apiBase, json } = asked
  if (!json) printAbout(tested, asked)
  const checks: Check[] = []
  for await (const check of tested.checks(signal)) {
    checks.push(check)
    if (!json) printCheck(check)
  }
  const about = { agent: tested.agent.name, version: tested.agent.version, model, apiBase }
  if (json) printJson({ schema: 'agent-test/1', ...about, ok: checks.every(({ ok }) => ok), checks })
  process.exitCode = exitCodeOf(checks)
}

function printAbout({ agent }: AgentTest, { path, model, apiBase }: Asked): void {
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
