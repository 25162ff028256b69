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

/** `ot-agent serve`: an engine behind an address, or a model server started from a file, or a look at one that runs. */
export default () =>
  new Command()
    .description(
      'Serves an engine over HTTP in the APIs of OpenAI, Anthropic and Google, until it is stopped.\n' +
        'With a file that has vllm_server it starts that server instead. With --check it only checks that one answers.',
    )
    .option('--engine <name>', 'what answers, for example scripted, a stand-in that needs no model')
    .option('-c, --config <file>', 'an engine file, YAML or JSON')
    .option('-m, --model <name>', 'the name the model is served under')
    .option('--tasks <dir>', 'for scripted: tasks whose own solutions are played; repeatable', several)
    .option('--script <file>', 'for scripted: turns to play')
    .option('--engine-kwarg <key=value>', 'option of the engine; repeatable', several)
    .option('--api-base <url>', 'the server behind, or the one to check; several share the calls', joinAddresses)
    .option('--api-key-env <name>', 'variable that holds the key: of the server behind, or of the one to check')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option(
      '--key-env <name>',
      'variable that holds the key that callers must send (default: none on loopback, else one is generated and shown)',
    )
    .option('--no-key', 'ask for no key although other machines reach it: only in a network of your own')
    .option('--advertise <host>', 'name under which others reach this machine, published instead of --host')
    .option('--replicas <n>', 'for a model server: number of copies, instead of what its file says', wholeNumber(1))
    .option('--hosts <names>', 'of a model server: nodes of this Slurm job to spread the copies over')
    .option('--port <n>', 'where to listen; 0 takes any that is free (default: 8000)', portNumber)
    .option('--endpoint-json <file>', 'write down here where it is served; with --check: read it from here')
    .option('--check', 'start nothing: is a server there, does it have the model, does it answer?')
    .option('-q, --quiet', 'no line for each request')
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
      'expected what to serve, got neither --engine nor --config',
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
