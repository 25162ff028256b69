import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { NewRun, StartedRun } from '../../core/new-run.ts'
import { namesIn } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { programName } from '../../lib/program-name.ts'
import { shellQuote } from '../../lib/shell.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { NotHere } from './library-job.ts'
import { newRunWords } from './new-run-words.ts'

export interface StarterSettings {
  /** Where runs may store their jobs: the directories that the viewer shows. */
  readonly jobsDirs: readonly string[]
  /** Where the logs of runs are stored. */
  readonly logsDir: string
  /** Called with a recipe's run directory after the run has succeeded. */
  readonly onRecipe?: (dir: string) => Promise<void>
  /** How to start `ot-agent` (default: this program). */
  readonly program?: readonly string[]
}

interface Started extends Omit<StartedRun, 'says' | 'job'> {
  readonly jobDir: string | null
  readonly stop: () => void
}

const mostAtOnce = 8
const mostKept = 50
const tailBytes = 4096
/** How long a run's log is kept after its last line. */
const logDays = 30

/**
 * Starts runs as separate processes, without a shell, and keeps track of them. Each has its own session and a log file
 * for its output, so it outlives the viewer: only `stop` ends one early, in the same way as Ctrl-C.
 */
export class StartedRuns {
  private readonly runs = new Map<string, Started>()
  private readonly program: readonly string[]

  constructor(readonly settings: StarterSettings) {
    this.program = settings.program ?? [process.execPath, join(packageRoot, 'bin/ot-agent.js')]
  }

  /** The same command as a shell line. */
  commandOf(run: NewRun): string {
    return [programName(), ...newRunWords(run).map(shellQuote)].join(' ')
  }

  async start(run: NewRun): Promise<string> {
    const jobDir = run.kind === 'recipe' ? null : this.jobDirOf(run)
    this.refuseBeside(jobDir)
    const { logsDir } = this.settings
    await mkdir(logsDir, { recursive: true, mode: 0o700 })
    await removeOldLogs(logsDir)
    const id = randomBytes(8).toString('hex')
    const log = join(logsDir, `${id}.log`)
    const output = await open(log, 'wx', 0o600)
    const startedMs = Date.now()
    try {
      const [program = '', ...args] = this.program
      const child = await spawnProcess(program, [...args, ...newRunWords(run)], {
        stdio: ['ignore', output.fd, output.fd],
        detached: true,
      })
      const update = (change: Partial<Started>) => {
        const now = this.runs.get(id)
        if (now) this.runs.set(id, { ...now, ...change })
      }
      this.runs.set(id, {
        ...{ id, jobDir, log, pid: child.pid ?? 0, state: 'running', exit: null },
        title: run.kind === 'recipe' ? run.file : run.jobName,
        command: this.commandOf(run),
        startedAt: new Date().toISOString(),
        stop: () => {
          update({ state: 'stopping' })
          child.kill('SIGINT')
        },
      })
      child.once('exit', async (code, signal) => {
        // A recipe that left no rows exits with 3, and what it dropped is worth a look.
        if (run.kind === 'recipe' && (code === 0 || code === 3)) await this.showRecipe(run, startedMs).catch(() => {})
        update({ state: 'ended', exit: code === null ? `signal ${signal}` : `exit code ${code}` })
      })
      child.unref()
    } finally {
      await output.close()
    }
    this.forgetOld()
    return id
  }

  /** Asks a run to stop, like Ctrl-C; a second call ends it at once. */
  stop(id: string): void {
    const run = this.runs.get(id)
    if (!run) throw new NotHere('this server started no such run')
    if (run.state !== 'ended') run.stop()
  }

  /** The started runs, newest first. `ids` maps job directories to ids. */
  async list(ids: ReadonlyMap<string, string>): Promise<StartedRun[]> {
    return Promise.all(
      [...this.runs.values()].reverse().map(async ({ jobDir, stop: _, ...run }) => ({
        ...run,
        says: await tailOf(run.log),
        job: jobDir === null ? null : (ids.get(jobDir) ?? null),
      })),
    )
  }

  private jobDirOf({ jobsDir, jobName }: Extract<NewRun, { jobsDir: string }>): string {
    const dir = resolve(jobsDir)
    if (this.settings.jobsDirs.includes(dir)) return join(dir, jobName)
    throw new UserError(
      `jobsDir: expected a directory of jobs that this viewer shows, got ${JSON.stringify(jobsDir)}`,
      `choose one of ${this.settings.jobsDirs.join(', ')}`,
    )
  }

  /** Without a given directory, a recipe is stored in `runs`, under its own name. */
  private async showRecipe({ out }: Extract<NewRun, { kind: 'recipe' }>, startedMs: number): Promise<void> {
    const dirs = out === undefined ? await writtenSince('runs', startedMs) : [out]
    for (const dir of dirs) await this.settings.onRecipe?.(resolve(dir))
  }

  private refuseBeside(jobDir: string | null): void {
    const active = [...this.runs.values()].filter(({ state }) => state !== 'ended')
    if (active.length >= mostAtOnce)
      throw new UserError(
        `expected fewer than ${mostAtOnce} runs at once, got one more`,
        'stop one, or wait until one ends',
      )
    if (jobDir !== null && active.some((run) => run.jobDir === jobDir))
      throw new UserError(`${jobDir} is already running`, 'choose another name for the job')
  }

  private forgetOld(): void {
    const ended = [...this.runs.values()].filter(({ state }) => state === 'ended')
    for (const { id } of ended.slice(0, Math.max(0, this.runs.size - mostKept))) this.runs.delete(id)
  }
}

/** Recipe runs in a folder that ended after a point in time. */
async function writtenSince(folder: string, ms: number): Promise<string[]> {
  const found: string[] = []
  for (const name of await namesIn(folder)) {
    const manifest = await stat(join(folder, name, 'manifest.json')).catch(() => null)
    // Some file systems store times in whole seconds.
    if (manifest && manifest.mtimeMs >= ms - 1000) found.push(join(folder, name))
  }
  return found
}

async function tailOf(path: string): Promise<string> {
  const file = await open(path).catch(() => null)
  if (file === null) return ''
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, Math.max(0, size - tailBytes))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

async function removeOldLogs(dir: string): Promise<void> {
  const oldest = Date.now() - logDays * 86_400_000
  for (const name of (await namesIn(dir)).filter((each) => each.endsWith('.log'))) {
    const found = await stat(join(dir, name)).catch(() => null)
    if (found && found.mtimeMs < oldest) await rm(join(dir, name), { force: true })
  }
}
