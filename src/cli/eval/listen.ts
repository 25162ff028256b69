import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { parseRunWords } from '../../app/flags/run-words.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { requestedModel } from '../../app/job/tasks-request.ts'
import { evaluateByLaunch } from '../../app/listen/evaluate-by-launch.ts'
import { evaluateHere } from '../../app/listen/evaluate-here.ts'
import { evaluateByCommand } from '../../app/registry/evaluate-by-command.ts'
import { hubModels } from '../../app/registry/hub-models.ts'
import { type Evaluate, type ListenEvent, listen } from '../../app/registry/listen.ts'
import { stopOrphanServers } from '../../app/serve/server-notes.ts'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { registryEnvOption, registryOption } from '../registry/place.ts'

/** `ot-agent eval listen`: evaluates models that have no results yet. */
export default () =>
  new Command()
    .description(
      'Watches the registry, and organizations on the Hub, for models without a result on a benchmark, and evaluates each ' +
        'one: in this process like eval run, with a launch on a cluster, or with your own command.\n' +
        'Any number of listeners can share one registry: each model is leased to one of them. When a listener dies, another ' +
        'takes over its model, and servers that it left on this machine are stopped.',
    )
    .argument('[option...]', 'with --here, after --: options of run, for example -- -a terminus-2 --api-base URL -k 3')
    .requiredOption('--benchmark <name>', 'NAME or NAME@VERSION')
    .option('--here', 'evaluate models in this process')
    .option('--server <file>', 'with --here: an engine file with vllm_server; its server is started for each model')
    .option('--launch <file>', 'evaluate models with launches of type eval, using the settings in this file')
    .option('--experiments-dir <dir>', 'with --launch: where each model has a directory of launches', 'experiments')
    .option(
      '--run <command>',
      "command that evaluates one model, such as 'ot-agent run -d NAME -m {model} -o jobs --job-name {job}'; it does not run in a shell",
    )
    .option('-o, --jobs-dir <dir>', 'where to keep jobs; a command must write the job {job} there', 'jobs')
    .option('--hub-org <name...>', 'organizations on the Hub whose models are evaluated too')
    .option('--concurrency <n>', 'number of models to evaluate at the same time', wholeNumber(1), 1)
    .option('--max-attempts <n>', 'maximum attempts for each model', wholeNumber(1), 3)
    .option(
      '--backoff-sec <n>',
      'seconds to wait before the second attempt; doubles with each further attempt',
      wholeNumber(0),
      60,
    )
    .option('--lease-sec <n>', 'seconds of silence after which a listener loses its models', wholeNumber(10), 300)
    .option('--poll-sec <n>', 'seconds between checks for new models', wholeNumber(1), 60)
    .option('--once', 'exit when there is nothing left to evaluate')
    .option('--public', 'on PostgreSQL: make results visible to readers without an account')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the final counts as JSON')
    .action(async (words, { here, server, launch, experimentsDir, run, jobsDir, hubOrg, ...options }) => {
      const { public: isPublic, json, ...rest } = options
      const evaluate = await chooseWay(words, {
        ...{ here, server, launch, experimentsDir, run, pollSec: rest.pollSec },
        jobsDir: resolve(jobsDir),
      })
      for (const { name, ownerPid } of await stopOrphanServers())
        note(oneLine(`stopped the server ${name} that process ${ownerPid} left`))
      const interrupt = interruptSignal()
      try {
        const discover = hubOrg && hubModels(hubOrg, interrupt.signal)
        const listening = listen({ evaluate, discover, isPublic, ...rest }, { signal: interrupt.signal })
        for await (const event of listening) note(oneLine(textOf(event)))
        const { counts } = await listening
        if (json) printJson({ schema: 'eval-listen/1', counts })
        else process.stdout.write(`${countsText(counts)}\n`)
      } finally {
        interrupt.stop()
      }
    })

interface Ways {
  readonly here?: true | undefined
  readonly server?: string | undefined
  readonly launch?: string | undefined
  readonly experimentsDir: string
  readonly run?: string | undefined
  readonly jobsDir: string
  readonly pollSec: number
}

/** A launch is polled at least this often. */
const mostEverySec = 15

/** Picks one of the three ways to evaluate models. */
async function chooseWay(words: readonly string[], ways: Ways): Promise<Evaluate> {
  const { here, server: serverFile, launch: file, experimentsDir, run, jobsDir, pollSec } = ways
  const notify = (line: string) => note(oneLine(line))
  if ([here, file, run].filter((way) => way !== undefined).length !== 1)
    throw new UserError('expected one of --here, --launch and --run', 'choose exactly one way to evaluate models')
  if (!here && (words.length > 0 || serverFile !== undefined))
    throw new UserError(
      `${serverFile === undefined ? words[0] : '--server'} works only with --here`,
      'add --here, or remove it',
    )
  if (file !== undefined)
    return evaluateByLaunch({ file, experimentsDir, everySec: Math.min(mostEverySec, pollSec), notify })
  if (run !== undefined) return evaluateByCommand(run, jobsDir)
  const request = await parseRunWords(words)
  const given = requestedModel(request)
  if (given.names.length > 0 || request.jobName !== undefined || request.jobsDir !== undefined)
    throw new UserError('-m, -o and --job-name after --: expected none, because the listener sets them', 'remove them')
  if (serverFile !== undefined && (given.apiBase !== undefined || given.engine !== undefined))
    throw new UserError(
      'expected --server alone, which starts a server; got --api-base or --engine too',
      'use only one of them',
    )
  return evaluateHere({ request, serverFile, jobsDir, notify })
}

function textOf(event: ListenEvent): string {
  if (event.kind === 'idle') return `waiting for models: ${countsText(event.counts)}`
  if (event.kind === 'start') return `${event.model}: attempt ${event.attempt}`
  if (event.kind === 'lost') return `${event.model}: taken by another listener`
  if (event.kind === 'done')
    return `${event.model}: ${event.accuracy === null ? 'not scored' : `${(event.accuracy * 100).toFixed(1)} %`}`
  const next = event.retrySec === null ? 'not tried again' : `retrying in ${event.retrySec} s`
  return `${event.model}: ${event.reason}; ${next}`
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const parts = ['done', 'running', 'waiting', 'failed'].map((state) => `${counts[state] ?? 0} ${state}`)
  return parts.join(', ')
}
