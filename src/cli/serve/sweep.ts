import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { joinAddresses, several, wholeNumber } from '../../app/flags/values.ts'
import { type GridPoint, gridOf } from '../../app/sweep/grid.ts'
import { modelOpener } from '../../app/sweep/open-model.ts'
import { runSweep, type SweepPoint } from '../../app/sweep/run-sweep.ts'
import { short } from '../../lib/plot.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent serve sweep`: measures a server's throughput under different settings. */
export default () =>
  new Command()
    .description(
      'Measures a model server under load: output tokens per second and latency at several numbers of concurrent requests.\n' +
        'With a file that has vllm_server it starts and stops that server once for each combination of --vary. An engine or a ' +
        'running server only gets requests.',
    )
    .option('-c, --config <file>', 'an engine file, YAML or JSON')
    .option('--engine <name>', 'an engine, instead of a file')
    .option('--engine-kwarg <key=value>', 'option of the engine; repeatable', several)
    .option(
      '--api-base <url>',
      'address of a running server; repeat it to spread the calls over several',
      joinAddresses,
    )
    .option('--api-key-env <name>', 'environment variable with its API key')
    .option('-m, --model <name>', 'model to request (default: the one in the file, or the one the server lists)')
    .option(
      '--vary <name=a,b,...>',
      'values to try for a setting of vllm_server, or for an option of the engine; repeatable',
      several,
    )
    .option('--concurrency <n,...>', 'numbers of concurrent requests to measure', wholeNumbers, [1, 4, 16])
    .option('--requests <n>', 'requests per measurement (default: 4 times the concurrency, at least 8)', wholeNumber(1))
    .option('--prompt-tokens <n>', 'approximate length of each prompt', wholeNumber(1), 512)
    .option('--max-output-tokens <n>', 'maximum length of each reply', wholeNumber(1), 128)
    .option('--timeout-sec <n>', 'time limit of a request', wholeNumber(1), 600)
    .option('--json', 'print the measurements as JSON')
    .action(async ({ vary = [], concurrency: concurrencies, json, ...options }) => {
      const { requests, promptTokens, maxOutputTokens, timeoutSec } = options
      const points = gridOf(vary)
      const interrupt = interruptSignal()
      try {
        const ask = { points, concurrencies, requests, promptTokens, maxOutputTokens, timeoutSec }
        const sweep = runSweep({ ...ask, open: modelOpener(options, vary.length > 0, note) }, interrupt.signal)
        for await (const point of sweep) note(oneLine(lineOf(point)))
        const result = await sweep
        if (json) printJson(result)
        else printPoints(result.points)
        if (!result.points.some(({ load }) => load && load.failed < load.requests)) process.exitCode = 3
      } finally {
        interrupt.stop()
      }
    })

function wholeNumbers(text: string): number[] {
  const numbers = text.split(',').map(Number)
  if (numbers.every((each) => Number.isInteger(each) && each >= 1 && each <= 10_000)) return numbers
  throw new InvalidArgumentError(`expected comma-separated whole numbers from 1 to 10000, got ${JSON.stringify(text)}`)
}

function settingsText(settings: GridPoint): string {
  const parts = Object.entries(settings).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return parts.join(' ') || '-'
}

function lineOf({ settings, concurrency, load, error }: SweepPoint): string {
  if (load === undefined) return `${settingsText(settings)}: ${error}`
  return `${settingsText(settings)}, ${concurrency} at once: ${short(load.outputTokensPerSec)} output tokens/s`
}

function printPoints(points: readonly SweepPoint[]): void {
  const header = [
    ...['settings', 'at once', 'requests', 'failed', 'output tokens/s', 'requests/s'],
    ...['latency p50', 'p90', 'p99', 'first token p50', 'p90'],
  ]
  const sec = (value: number | undefined) => (value === undefined ? '-' : `${short(value)} s`)
  printTable(
    header,
    points.map(({ settings, concurrency, load, error }) =>
      load === undefined
        ? [settingsText(settings), '-', '-', '-', error.slice(0, 100)]
        : [
            ...[settingsText(settings), String(concurrency), String(load.requests), String(load.failed)],
            ...[short(load.outputTokensPerSec), short(load.requestsPerSec)],
            ...[sec(load.latencySec?.p50), sec(load.latencySec?.p90), sec(load.latencySec?.p99)],
            ...[sec(load.firstTokenSec?.p50), sec(load.firstTokenSec?.p90)],
          ],
    ),
  )
  const errors = points.flatMap(({ load }) => Object.entries(load?.errors ?? {}))
  for (const [error, count] of errors) process.stdout.write(`${count} requests failed: ${oneLine(error)}\n`)
  const measured = points.filter(({ load }) => load && load.failed < load.requests)
  const best = measured.toSorted((a, b) => (b.load?.outputTokensPerSec ?? 0) - (a.load?.outputTokensPerSec ?? 0))[0]
  if (best && measured.length > 1) process.stdout.write(`\nhighest throughput: ${oneLine(lineOf(best))}\n`)
}
