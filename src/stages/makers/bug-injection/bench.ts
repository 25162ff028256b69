import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BoundaryError } from '../../../core/errors.ts'
import type { Sandbox, SandboxProvider } from '../../../core/sandbox.ts'
import type { Environment } from '../../../core/task.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { AlreadyThere, makeDirWhole } from '../../../lib/new-dir.ts'
import { openRepository, parseRepositorySpec, type RepositoryFiles } from '../../shared/repositories/repository.ts'
import { asText, isTestFile } from '../../shared/repositories/test-files.ts'
import {
  parseReport,
  renderTestRun,
  reportAwk,
  type TestRun,
  type TestStatus,
} from '../../shared/repositories/test-run.ts'
import type { Options, RepositoryRow } from './options.ts'
import { parseSource, type Source } from './source.ts'

/** A repository prepared for testing: its files by kind, and which of its tests pass while it is unbroken. */
export interface Bench {
  readonly digest: string
  readonly files: RepositoryFiles
  /** Earlier versions, whose bugs can be reintroduced. */
  readonly older: readonly RepositoryFiles[]
  /** What can be mutated. */
  readonly sources: readonly Source[]
  /** Tests and test runner settings, which a verifier brings itself. */
  readonly held: RepositoryFiles
  readonly dockerfile: string
  readonly run: TestRun
  /** Names of tests that pass every time. */
  readonly passing: readonly string[]
  /** Runs the tests with these files changed. */
  measure(changed: Readonly<Record<string, string>>): Promise<Measured>
  /** Runs `work` in a fresh sandbox with these files changed. */
  inSandbox<T>(changed: Readonly<Record<string, string>>, work: (sandbox: Sandbox) => Promise<T>): Promise<T>
}

export interface Measured {
  readonly statuses: ReadonlyMap<string, TestStatus>
  readonly log: string
  readonly timedOut: boolean
}

export interface BenchAt {
  readonly sandboxes: SandboxProvider
  readonly workDir: string
  readonly signal: AbortSignal
  log(line: string): void
}

const settings =
  /^(?:package\.json|pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|\.mocharc[^/]*|\.taprc|(?:jest|vitest|ava)\.config\.[^/]*)$/
const notSource =
  /(?:^|\/)(?:node_modules|dist|build|vendor|docs?|examples?|bench(?:marks?)?|scripts|coverage)\/|\.min\.js$|\.d\.[cm]?ts$|\.config\.[^/]*$|(?:^|\/)(?:setup|noxfile|versioneer|_version|Gruntfile|gulpfile)\.[^/]*$/

/** Opens a repository and runs its tests twice; a text says why it cannot be used. */
export async function openBench(row: RepositoryRow, given: Options, at: BenchAt): Promise<Bench | string> {
  const open = (repo: string) =>
    openRepository(parseRepositorySpec(repo, given.root), join(at.workDir, 'fetched'), at.signal)
  const files = await open(row.repo)
  const older: RepositoryFiles[] = []
  for (const repo of row.older) older.push(await open(repo))
  const sources = Object.entries(files).flatMap(([path, { data }]) => {
    if (isTestFile(path) || notSource.test(path) || data.length > 200_000) return []
    const source = parseSource(path, asText(data) ?? '')
    return source && source.text !== '' ? [source] : []
  })
  if (sources.length === 0) return 'no file of Python, JavaScript or TypeScript beside the tests'
  const run = { commands: row.commands, format: row.format, workdir: given.workdir, timeoutSec: given.timeoutSec }
  const dockerfile = renderDockerfile(row, given.workdir, sources)
  const digest = digestJson([
    Object.entries(files).map(([path, { data }]) => [path, asText(data) ?? data]),
    run,
    dockerfile,
  ])
  const environment = await saveEnvironment(join(at.workDir, 'environments', digest.slice(0, 16)), dockerfile, files)
  const startedMs = performance.now()
  const [first, second] = [await measureIn(environment, run, {}, at), await measureIn(environment, run, {}, at)]
  // A mutant that takes ten times as long as both runs of the whole repository will never end.
  const patience = { ...run, timeoutSec: Math.min(run.timeoutSec, Math.max(60, (performance.now() - startedMs) / 100)) }
  const measure = (changed: Readonly<Record<string, string>>) => measureIn(environment, patience, changed, at)
  const inSandbox: Bench['inSandbox'] = async (changed, work) => {
    await using sandbox = await leaseWith(environment, run.workdir, changed, at)
    return await work(sandbox)
  }
  const passing = [...first.statuses.keys()].filter(
    (name) => first.statuses.get(name) === 'pass' && second.statuses.get(name) === 'pass',
  )
  if (passing.length < 2) return `its tests tell of ${passing.length} that pass every time: ${lastLines(first.log)}`
  const held = Object.fromEntries(Object.entries(files).filter(([path]) => isTestFile(path) || settings.test(path)))
  return { digest, files, older, sources, held, dockerfile, run, passing, measure, inSandbox }
}

function renderDockerfile({ image, base, setup }: RepositoryRow, workdir: string, sources: readonly Source[]): string {
  const python = sources.filter(({ language }) => language === 'python').length
  const usual = python * 2 > sources.length ? 'python:3.12-slim' : 'node:22-slim'
  const before = base.map((command) => `RUN ${command}`)
  const lines = [`FROM ${image ?? usual}`, '', ...before, `WORKDIR ${workdir}`, `COPY repo ${workdir}`]
  return [...lines, ...setup.map((command) => `RUN ${command}`), ''].join('\n')
}

async function saveEnvironment(dir: string, dockerfile: string, files: RepositoryFiles): Promise<Environment> {
  await mkdir(dirname(dir), { recursive: true })
  try {
    await makeDirWhole(dir, async (temporary) => {
      await writeFile(join(temporary, 'Dockerfile'), dockerfile)
      for (const [path, { data, executable }] of Object.entries(files)) {
        await mkdir(dirname(join(temporary, 'repo', path)), { recursive: true })
        await writeFile(join(temporary, 'repo', path), data, { mode: executable ? 0o755 : 0o644 })
      }
    })
  } catch (error) {
    // The same content already exists.
    if (!(error instanceof AlreadyThere)) throw error
  }
  return {
    ...{ dir, buildTimeoutSec: 900, os: 'linux', gpus: 0, env: {}, mcpServers: [] },
    network: { mode: 'no-network' },
  }
}

/** Uses a fresh sandbox each time, so that nothing left by one mutant affects the next. */
async function measureIn(
  environment: Environment,
  run: TestRun,
  changed: Readonly<Record<string, string>>,
  at: BenchAt,
): Promise<Measured> {
  const { signal } = at
  await using sandbox = await leaseWith(environment, run.workdir, changed, at)
  const place = '/var/tmp/ot-agent-measure'
  await sandbox.write(`${place}/run-tests.sh`, renderTestRun(run), { mode: 0o755 })
  await sandbox.write(`${place}/report.awk`, reportAwk)
  const timeoutSec = run.timeoutSec * run.commands.length + 30
  const argv = ['sh', `${place}/run-tests.sh`, `${place}/report.txt`, `${place}/tests.log`]
  const { timedOut } = await sandbox.exec(argv, { timeoutSec, signal, cwd: '/' })
  const read = async (name: string) => {
    const { exitCode, stdout } = await sandbox.exec(['head', '-c', '1000000', `${place}/${name}`], { signal, cwd: '/' })
    if (exitCode !== 0) throw new BoundaryError('sandbox', `the tests left no ${name}`)
    return stdout
  }
  const log = await read('tests.log')
  return {
    statuses: parseReport(await read('report.txt')),
    log,
    timedOut: timedOut || /^exit code 1(?:24|37)$/m.test(log),
  }
}

async function leaseWith(
  environment: Environment,
  workdir: string,
  changed: Readonly<Record<string, string>>,
  { sandboxes, signal }: BenchAt,
) {
  signal.throwIfAborted()
  const owner = { job: 'bug-injection', trial: digestJson(changed).slice(0, 12) }
  const sandbox = await sandboxes.lease({ owner, environment, signal })
  try {
    for (const [path, text] of Object.entries(changed)) await sandbox.write(`${workdir}/${path}`, text)
    return sandbox
  } catch (error) {
    await sandbox[Symbol.asyncDispose]()
    throw error
  }
}

function lastLines(log: string): string {
  return log.trim().split('\n').slice(-3).join(' | ').slice(0, 300)
}
