import { Command } from '@commander-js/extra-typings'
import { checkEndpoint } from '../app/engine/check-endpoint.ts'
import type { EngineRequest } from '../app/engine/engine-request.ts'
import { joinAddresses, portNumber, several, wholeNumber } from '../app/flags/values.ts'
import { parsedAssignments } from '../app/job/assignments.ts'
import { loadVllmFile, runVllm } from '../app/serve/run-vllm.ts'
import { UserError } from '../core/errors.ts'
import { interruptSignal } from './interrupt.ts'
import { note, printJson } from './output.ts'
import { exitCodeOf, printCheck } from './print-check.ts'
import { announce, type ServeOptions, serveEngine } from './serve/serve-engine.ts'

/** `ot-agent serve`: serves an engine at an address, starts a model server from a file, or checks a running one. */
export default () =>
  new Command()
    .description(
      'Serves an engine over HTTP with the APIs of OpenAI, Anthropic and Google until you stop it.\n' +
        'With a file that has vllm_server it starts that server instead. With --check it only checks that a server answers.',
    )
    .option('--engine <name>', 'engine that answers, for example scripted, a stand-in that needs no model')
    .option('-c, --config <file>', 'an engine file, YAML or JSON')
    .option('-m, --model <name>', 'name to serve the model under')
    .option('--tasks <dir>', 'for scripted: tasks whose own solutions to play back; repeatable', several)
    .option('--script <file>', 'for scripted: file of turns to play back')
    .option('--engine-kwarg <key=value>', 'option of the engine; repeatable', several)
    .option(
      '--api-base <url>',
      'address of the upstream server, or of the one to check; repeat it to spread the calls over several',
      joinAddresses,
    )
    .option('--api-key-env <name>', 'environment variable with the API key of that server')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--key-env <name>',
      'environment variable with the key that callers must send (default: no key on loopback; otherwise one is generated and printed)',
    )
    .option('--no-key', 'require no key even though other machines can connect; use it only on a private network')
    .option('--advertise <host>', 'host name to publish instead of --host, under which others reach this machine')
    .option('--replicas <n>', 'for a model server: number of copies; overrides its file', wholeNumber(1))
    .option('--hosts <names>', 'for a model server: nodes of this Slurm job to spread the copies over')
    .option('--port <n>', 'port to listen on; 0 takes any free port (default: 8000)', portNumber)
    .option('--endpoint-json <file>', 'file to write the address and model to; with --check: file to read them from')
    .option('--check', 'start nothing; check that a server is running, has the model and answers')
    .option('-q, --quiet', 'do not print a line for each request')
    .option('--json', 'print the result as JSON')
    .action(async (options) => {
      const interrupt = interruptSignal()
      try {
        await serve(options, interrupt.signal)
      } finally {
        interrupt.stop()
      }
    })

type Options = ServeOptions & {
  readonly engine?: string
  readonly tasks?: readonly string[]
  readonly script?: string
  readonly engineKwarg?: readonly string[]
  readonly apiBase?: string
  readonly apiKeyEnv?: string
  readonly check?: true
}

async function serve(options: Options, signal: AbortSignal): Promise<void> {
  const request = requestOf(options)
  if (options.check) return check(request, options, signal)
  if (options.engine === undefined && options.config === undefined && options.apiBase === undefined) {
    throw new UserError(
      'expected something to serve, got neither --engine nor --config',
      'for example: ot-agent serve --engine scripted --tasks DIR',
    )
  }
  const file = options.config === undefined ? null : await loadVllmFile(options.config)
  if (file === null || options.engine !== undefined) return serveEngine(request, options, signal)
  const { json } = options
  return runVllm(file, options, {
    notify: note,
    onServed: (served, endpointJson) =>
      announce(served, { ...(endpointJson !== undefined && { endpointJson }), ...(json && { json }) }),
    signal,
  })
}

async function check(request: EngineRequest, options: Options, signal: AbortSignal): Promise<void> {
  const onCheck = options.json ? () => {} : printCheck
  const { model, checks } = await checkEndpoint(request, options, { signal, onCheck })
  if (options.json) printJson({ schema: 'endpoint-check/1', ok: checks.every(({ ok }) => ok), model, checks })
  process.exitCode = exitCodeOf(checks)
}

function requestOf(options: Options): EngineRequest {
  const { engine: name, config, apiBase: api_base, apiKeyEnv: api_key_env, tasks, script } = options
  const own = { ...(tasks && { tasks }), ...(script !== undefined && { script }) }
  return {
    ...(name !== undefined && { name }),
    ...(config !== undefined && { config }),
    ...(api_base !== undefined && { api_base }),
    ...(api_key_env !== undefined && { api_key_env }),
    options: { ...own, ...parsedAssignments('--engine-kwarg', options.engineKwarg ?? []) },
  }
}
