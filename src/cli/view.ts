import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { portNumber } from '../app/flags/values.ts'
import { jobPaths } from '../app/jobs/find-job.ts'
import type { Board } from '../app/view/board.ts'
import { exportSite } from '../app/view/export/export-site.ts'
import { Library } from '../app/view/library.ts'
import { sortPaths } from '../app/view/sort-paths.ts'
import { StartedRuns } from '../app/view/started-runs.ts'
import { UserError } from '../core/errors.ts'
import { untilAborted } from '../lib/deadline.ts'
import { isLoopback } from '../lib/loopback.ts'
import { packageRoot } from '../lib/package-root.ts'
import { defaultStateDir } from '../lib/process-identity.ts'
import { findProgram } from '../lib/programs.ts'
import { spawnProcess } from '../lib/spawn-process.ts'
import { serveView } from '../server/view/serve-view.ts'
import { interruptSignal } from './interrupt.ts'
import { note, printJson } from './output.ts'
import { registryEnvOption, registryOption } from './registry/place.ts'
import { sizeText } from './size-text.ts'
import { jobsDirOption } from './traces/options.ts'
import { announceView, findRunningView, type RunningView, viewNote } from './view/running-view.ts'

const assetsDir = join(packageRoot, 'dist', 'web')

/** `ot-agent view`: shows jobs, trials, tasks, datasets and recipe runs in a browser. */
export default () =>
  new Command()
    .description(
      'Shows jobs, trials, tasks, datasets and the leaderboard of a registry in a browser: what ran, what failed and why, ' +
        'what the agent saw and typed, whether tasks are sound, where every row of a dataset came from, which model is best and ' +
        'by how much.\n' +
        'The server is read-only unless you pass --allow-runs, and only this machine can reach it unless you pass --host.',
    )
    .argument(
      '[paths...]',
      'jobs, trials or directories of jobs (from ot-agent or Harbor), folders and packs of tasks, datasets, recipe runs, registry files, reports of ablations and of tasks check (default: jobs)',
    )
    .addOption(jobsDirOption())
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option(
      '--host <address>',
      'address to listen on; readers on other machines need the token in the printed address',
      '127.0.0.1',
    )
    .option('--port <n>', 'port to listen on; 0 takes any free port', portNumber, 0)
    .option(
      '--allow-runs',
      'allow the page at the printed address to start runs, evaluations and recipes on this machine as your user; they keep running when the viewer stops',
    )
    .option('--no-open', 'do not open a browser')
    .option(
      '--export <folder>',
      'write the pages as a static site for any file server, without paths and secrets of this machine',
    )
    .option('--export-rows <n>', 'maximum rows of each dataset in the export; 0 exports no datasets', rowCount, 500)
    .option('--json', 'print the address as JSON')
    .action(async (paths, options) => {
      const interrupt = interruptSignal()
      try {
        await view(await jobPaths(paths, options.jobsDir), options, interrupt.signal)
      } finally {
        interrupt.stop()
      }
    })

interface Options {
  readonly host: string
  readonly port: number
  readonly open: boolean
  readonly allowRuns?: true
  readonly json?: true
  readonly registry?: string
  readonly registryEnv?: string
  readonly export?: string
  readonly exportRows: number
}

async function view(paths: readonly string[], options: Options, signal: AbortSignal): Promise<void> {
  if (options.allowRuns) refuseRuns(options)
  // The first run needs a directory to be stored in.
  if (options.allowRuns && paths.length === 0) await mkdir('jobs', { recursive: true })
  const { jobs, board } = await sortPaths(paths, options)
  const { library, start: first } = await Library.open(jobs)
  if (options.allowRuns && library.jobsDirs.length === 0)
    throw new UserError(
      '--allow-runs: expected a directory of jobs among the paths, got none',
      'add one, for example jobs',
    )
  if (options.export !== undefined) return exportTo(options.export, { library, board, signal }, options)
  const start = first === '' && !library.hasJobs ? '#/board' : first
  const named = [options.registry, options.registryEnv].flatMap((place) => place ?? [])
  const file = viewNote([...(paths.length === 0 ? ['jobs'] : paths), ...named], options)
  const running = await findRunningView(file)
  if (running) {
    note('a viewer of these paths is already running')
    await tell(running, start, options)
    return
  }
  const token = isLoopback(options.host) ? null : randomBytes(24).toString('base64url')
  const writer = options.allowRuns ? writerFor(library) : null
  const server = await serveView(library, { host: options.host, port: options.port, token, assetsDir, board, writer })
  const here = { origin: server.origin, token, runKey: writer?.key ?? null }
  const withdraw = await announceView(file, here)
  try {
    await tell(here, start, options)
    if (!options.json) note('press Ctrl-C to stop')
    await untilAborted(signal)
  } finally {
    await withdraw()
    await server.close()
    await library.close()
  }
}

/** Starting runs means running programs as the user, so its key never leaves this machine. */
function refuseRuns(options: Options): void {
  if (options.export !== undefined)
    throw new UserError(
      '--allow-runs: expected no --export with it',
      'remove one of them: an export is only files, and cannot start runs',
    )
  if (!isLoopback(options.host))
    throw new UserError(
      `--allow-runs: expected a --host of this machine only, got ${options.host}`,
      'remove --host, and reach the viewer from other machines over an SSH tunnel',
    )
}

function writerFor(library: Library) {
  const logsDir = join(defaultStateDir(), 'view-runs')
  const onRecipe = (dir: string) => library.include(dir)
  const runs = new StartedRuns({ jobsDirs: library.jobsDirs, logsDir, onRecipe })
  return { key: randomBytes(24).toString('base64url'), runs }
}

async function exportTo(
  out: string,
  { library, ...rest }: { library: Library; board: Board | null; signal: AbortSignal },
  { json, exportRows }: Options,
): Promise<void> {
  try {
    const onJob = (id: string, trials: number) => note(`${id}: ${trials} trials`)
    const done = await exportSite({ library, ...rest, assetsDir, out, onJob, rows: exportRows })
    const { jobs, trials, models, tasks, datasets, rows, files, bytes } = done
    if (json) printJson({ schema: 'view-export/1', out, ...done })
    else
      process.stdout.write(
        `${out}: ${jobs} jobs, ${trials} trials, ${models} models, ${tasks} tasks and ${rows} rows of ${datasets} datasets in ${files} files, ${sizeText(bytes)}\n`,
      )
  } finally {
    await library.close()
  }
}

async function tell({ origin, token, runKey }: RunningView, start: string, options: Options): Promise<void> {
  // The key goes after the hash, which a browser never sends to a server.
  const hash = runKey === null ? start : `${start === '' ? '#/' : start}${start.includes('?') ? '&' : '?'}key=${runKey}`
  const url = `${origin}/${token === null ? '' : `?token=${token}`}${hash}`
  if (options.json) printJson({ url })
  else process.stdout.write(`${url}\n`)
  if (options.open && !options.json) await openBrowser(url)
}

/** Opens a browser only if there is a desktop; a remote session has none. */
async function openBrowser(url: string): Promise<void> {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = process.env
  const isDesktop = process.platform === 'darwin' || ((DISPLAY || WAYLAND_DISPLAY) && !SSH_CONNECTION)
  const opener = findProgram(process.platform === 'darwin' ? 'open' : 'xdg-open')
  if (!isDesktop || opener === null || !process.stdout.isTTY) return
  try {
    const child = await spawnProcess(opener, [url], { stdio: 'ignore', detached: true })
    child.unref()
  } catch {
    note('could not open a browser; open the address yourself')
  }
}

function rowCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number of rows, got ${JSON.stringify(text)}`)
}
