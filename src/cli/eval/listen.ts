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

/** `ot-agent eval listen`: evaluates models that have no result yet. */
export default () =>
  new Command()
    .description(
      'Watches the registry, and organizations on the Hub, for models without a result on a benchmark, and evaluates each: here as eval run does, by a launch on\n' +
        'a cluster, or by a command of yours. Any number of listeners share one registry: each model is leased to one of them. A model whose listener died is taken\n' +
        'by another, and servers that a dead listener left on this machine are stopped.',
    )
    .argument('[option...]', 'with --here, after --: options of run, such as -- -a terminus-2 --api-base URL -k 3')
    .requiredOption('--benchmark <name>', 'NAME or NAME@VERSION')
    .option('--here', 'evaluate models in this process')
    .option('--server <file>', 'with --here: an engine file with vllm_server; its server is started for each model')
    .option('--launch <file>', 'evaluate models by launches of type eval, with the settings of this file')
    .option('--experiments-dir <dir>', 'with --launch: where each model has a directory of launches', 'experiments')
    .option(
      '--run <command>',
      "evaluates one model, such as 'ot-agent run -d NAME -m {model} -o jobs --job-name {job}'; no shell reads it",
    )
    .option('-o, --jobs-dir <dir>', 'where jobs are kept; a command has to leave the job {job} there', 'jobs')
    .option('--hub-org <name...>', 'organizations on the Hub whose models are evaluated too')
    .option('--concurrency <n>', 'models evaluated at once', wholeNumber(1), 1)
    .option('--max-attempts <n>', 'how often a model is tried', wholeNumber(1), 3)
    .option(
      '--backoff-sec <n>',
      'the wait before a second attempt; it doubles for each further one',
      wholeNumber(0),
      60,
    )
    .option('--lease-sec <n>', 'a listener that is silent for this long loses its models', wholeNumber(10), 300)
    .option('--poll-sec <n>', 'how often it looks for new models', wholeNumber(1), 60)
    .option('--once', 'end when there is nothing to evaluate now')
    .option('--public', 'let readers without an account of their own see results, on PostgreSQL')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the counts at the end as JSON')
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

/** A launch is looked at at least this often. */
const mostEverySec = 15

/** How models are evaluated: in one of three ways. */
async function chooseWay(words: readonly string[], ways: Ways): Promise<Evaluate> {
  const { here, server: serverFile, launch: file, experimentsDir, run, jobsDir, pollSec } = ways
  const notify = (line: string) => note(oneLine(line))
  if ([here, file, run].filter((way) => way !== undefined).length !== 1)
    throw new UserError('expected one of --here, --launch and --run', 'each is another way to evaluate a model')
  if (!here && (words.length > 0 || serverFile !== undefined))
    throw new UserError(
      `${serverFile === undefined ? words[0] : '--server'} is for --here`,
      'add --here, or leave it out',
    )
  if (file !== undefined)
    return evaluateByLaunch({ file, experimentsDir, everySec: Math.min(mostEverySec, pollSec), notify })
  if (run !== undefined) return evaluateByCommand(run, jobsDir)
  const request = await parseRunWords(words)
  const given = requestedModel(request)
  if (given.names.length > 0 || request.jobName !== undefined || request.jobsDir !== undefined)
    throw new UserError('-m, -o and --job-name after --: expected none, the listener fills them in', 'leave them out')
  if (serverFile !== undefined && (given.apiBase !== undefined || given.engine !== undefined))
    throw new UserError(
      '--api-base or --engine is given beside --server, which starts a server',
      'leave one of them out',
    )
  return evaluateHere({ request, serverFile, jobsDir, notify })
}

function textOf(event: ListenEvent): string {
  if (event.kind === 'idle') return `waiting for models: ${countsText(event.counts)}`
  if (event.kind === 'start') return `${event.model}: attempt ${event.attempt}`
  if (event.kind === 'lost') return `${event.model}: another listener has taken it`
  if (event.kind === 'done')
    return `${event.model}: ${event.accuracy === null ? 'not scored' : `${(event.accuracy * 100).toFixed(1)} %`}`
  const next = event.retrySec === null ? 'not tried again' : `tried again in ${event.retrySec} s`
  return `${event.model}: ${event.reason}; ${next}`
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const parts = ['done', 'running', 'waiting', 'failed'].map((state) => `${counts[state] ?? 0} ${state}`)
  return parts.join(', ')
}
