import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { evaluateByCommand } from '../../app/registry/evaluate-by-command.ts'
import { hubModels } from '../../app/registry/hub-models.ts'
import { type ListenEvent, listen } from '../../app/registry/listen.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { registryEnvOption, registryOption } from '../registry/place.ts'

/** `ot-agent eval listen`: evaluates models that have no result yet. */
export default () =>
  new Command()
    .description(
      'Watches the registry, and organizations on the Hub, for models without a result on a benchmark, and runs a command for each.\n' +
        'Any number of listeners share one registry: each model is leased to one of them. A model whose listener died is taken by another.',
    )
    .requiredOption('--benchmark <name>', 'NAME or NAME@VERSION')
    .requiredOption(
      '--run <command>',
      "evaluates one model, such as 'ot-agent run -d NAME -m {model} -o jobs --job-name {job}'; no shell reads it",
    )
    .option('-o, --jobs-dir <dir>', 'where the command leaves the job {job}', 'jobs')
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
    .action(async ({ run, jobsDir, hubOrg, public: isPublic, json, ...rest }) => {
      const evaluate = evaluateByCommand(run, resolve(jobsDir))
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
