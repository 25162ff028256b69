import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DraftFile, RepositoryFiles, Sandbox, SandboxProvider } from 'ot-agent'
import {
  dockerfile,
  type Failed,
  fileOf,
  jarDirs,
  notCompiled,
  parseRun,
  runTestsJava,
  type Suite,
  testCommand,
  workdir,
} from './runner.ts'

export interface BenchAt {
  readonly sandboxes: SandboxProvider
  readonly workDir: string
  readonly signal: AbortSignal
}

/**
 * A project without its bug, and the files as the bug changes them; null for a file that only the fixed version has.
 */
export interface Subject {
  readonly files: RepositoryFiles
  readonly broken: ReadonlyMap<string, string | null>
  readonly suite: Suite
  /** Test classes that must run. */
  readonly triggering: readonly string[]
  readonly jars: Readonly<Record<string, DraftFile>>
}

export interface Measured {
  readonly suite: Suite
  /** Tests that pass every time without the bug. */
  readonly passing: readonly string[]
  /** The ones among them that fail with the bug. */
  readonly failing: ReadonlyMap<string, Failed>
}

/** Time limit for one command that compiles and runs the tests. */
export const testSec = 300

/** Runs the tests twice without the bug and once with it; a string says why the bug cannot be used. */
export async function measure(subject: Subject, at: BenchAt): Promise<Measured | string> {
  await mkdir(at.workDir, { recursive: true })
  const dir = await mkdtemp(join(at.workDir, 'bench-'))
  try {
    const hasJars = Object.keys(subject.jars).length > 0
    await writeFile(join(dir, 'Dockerfile'), dockerfile(hasJars))
    await save(join(dir, 'repo'), subject.files)
    await save(join(dir, 'lib'), subject.jars)
    const owner = { job: 'defects4j', trial: basename(dir) }
    const environment = {
      ...{ dir, buildTimeoutSec: 900, os: 'linux' as const, gpus: 0, env: {}, mcpServers: [] },
      network: { mode: 'no-network' as const },
    }
    await using sandbox = await at.sandboxes.lease({ owner, environment, signal: at.signal })
    await sandbox.write('/tests/RunTests.java', runTestsJava)
    if (hasJars) await sandbox.uploadDir(join(dir, 'lib'), jarDirs.verifier)
    return await compare(subject, sandbox, at.signal)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function compare({ suite, broken, triggering }: Subject, sandbox: Sandbox, signal: AbortSignal) {
  const whole = await runTests(suite, triggering, sandbox, signal)
  if (typeof whole === 'string') return whole
  for (const [path, text] of broken) {
    if (text === null) await sandbox.exec(['rm', '-f', `${workdir}/${path}`], { signal })
    else await sandbox.write(`${workdir}/${path}`, text)
  }
  const { stdout, exitCode, stderr } = await run(testCommand(whole.suite), sandbox, signal)
  if (exitCode === notCompiled) return `with the bug the tests do not compile: ${firstError(stderr)}`
  const withBug = parseRun(stdout)
  const passing = [...whole.tests].flatMap(([name, failed]) => (failed === null ? [name] : []))
  const failing = new Map(passing.flatMap((name) => (withBug.get(name) ? [[name, withBug.get(name) as Failed]] : [])))
  // A test that did not run with the bug proves nothing.
  return { suite: whole.suite, passing: passing.filter((name) => withBug.has(name)), failing }
}

/**
 * Leaves out test classes that do not compile, unless they show the bug. If all together take too long, keeps only
 * those that show it.
 */
async function runTests(suite: Suite, triggering: readonly string[], sandbox: Sandbox, signal: AbortSignal) {
  let { classes } = suite
  for (let attempt = 0; attempt < 4; attempt++) {
    const tried = { ...suite, classes }
    const { stdout, stderr, exitCode, timedOut } = await run(testCommand(tried, 2), sandbox, signal)
    if (timedOut && classes.length === triggering.length) return `the tests take longer than ${testSec} s`
    if (exitCode !== notCompiled && !timedOut) return { suite: tried, tests: parseRun(stdout) }
    const named = new Set([...stderr.matchAll(/^(\S+\.java):\d+: error:/gm)].map(([, path]) => path))
    const fine = classes.filter((name) => !named.has(`${workdir}/${fileOf(suite.testRoot, name)}`))
    if (!timedOut && triggering.some((name) => !fine.includes(name)))
      return `the tests do not compile: ${firstError(stderr)}`
    const isStuck = timedOut || fine.length === classes.length
    if (isStuck && classes.length === triggering.length) return `the code does not compile: ${firstError(stderr)}`
    classes = isStuck ? triggering : fine
  }
  return 'the tests do not compile'
}

function run(command: string, sandbox: Sandbox, signal: AbortSignal) {
  const limits = { timeoutSec: testSec, outputLimitBytes: 8 * 1024 * 1024 }
  return sandbox.exec(['sh', '-c', command], { ...limits, signal, cwd: '/' })
}

function firstError(stderr: string): string {
  return (/^(?:.*\/)?([^/\s]+\.java:\d+: error: .*)$/m.exec(stderr)?.[1] ?? stderr.trim().slice(-200)).slice(0, 200)
}

async function save(dir: string, files: RepositoryFiles): Promise<void> {
  for (const [path, { data, executable }] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), data, { mode: executable ? 0o755 : 0o644 })
  }
}

/** The newest version of each jar below a folder; JUnit comes from elsewhere. */
export async function readJars(dir: string): Promise<Record<string, DraftFile>> {
  const found = await readdir(dir, { recursive: true }).catch(() => [])
  const newest = new Map<string, string>()
  for (const path of found.filter((name) => name.endsWith('.jar')).sort(byNumbers)) {
    const artifact = basename(path, '.jar').replace(/-\d.*/, '')
    if (!/^(?:junit|hamcrest|cobertura)/.test(artifact)) newest.set(artifact, path)
  }
  const jars: Record<string, DraftFile> = {}
  for (const path of newest.values()) jars[basename(path)] = { data: await readFile(join(dir, path)) }
  return jars
}

const { compare: byNumbers } = new Intl.Collator('en', { numeric: true })
