import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Agent } from '../../../core/agent.ts'
import { resolveEnv } from '../../../core/env-template.ts'
import { BoundaryError } from '../../../core/errors.ts'
import type { ExecOptions, SandboxLease } from '../../../core/sandbox.ts'
import type { Task } from '../../../core/task.ts'
import { sandboxPaths, solutionDir, testsDir } from '../../../core/task-paths.ts'
import type { CheckRequest } from '../check-request.ts'
import { withSandbox } from '../with-sandbox.ts'
import {
  lookScript,
  madeBytes,
  orderScript,
  type PathKind,
  pathKinds,
  readScript,
  shallowScript,
  watchScript,
} from './law-scripts.ts'
import { findStubsScript, mayAskForBodies, type Stub, shallowBodies, stubsAskedFor } from './shallow-bodies.ts'
import { type ShallowSolution, shallowSolutions } from './shallow-solutions.ts'

/** What was observed about a task in the one sandbox that the laws share. */
export interface LawSights {
  readonly workdir: string
  /** By path, before and after the solution. */
  readonly before: ReadonlyMap<string, PathKind>
  readonly after: ReadonlyMap<string, PathKind>
  /** Shallow solutions that the tests pay in full, as far as one shared sandbox can tell. */
  readonly paid: readonly ShallowSolution[]
  readonly tried: number
  readonly stderr: string
  /** Parts of pipes that failed, one line each. */
  readonly pipes: readonly string[]
  /** The text files the solution made, by path; large ones are truncated. */
  readonly made: ReadonlyMap<string, string>
  /** Files that the tests reject once their lines are reversed. Empty unless requested. */
  readonly orderMatters: readonly string[]
}

export interface LawAsk {
  readonly task: Task
  /** Paths to look at. */
  readonly paths: readonly string[]
  /** Whether the tests alone determine the reward, in the same sandbox. */
  readonly isScored: boolean
  /**
   * Whether to find out if the tests require the lines of text files in the order in which the solution writes them.
   */
  readonly isOrderHidden: boolean
  /** Whether the contents of a reward file are full pay. */
  readonly pays: (kind: 'txt' | 'json', text: string) => boolean
}

const lookSec = 60
const testsSec = 60

/** Inspects a task's paths, tries shallow solutions and watches its solution, all in one sandbox. */
export function seeLaws(ask: LawAsk, request: CheckRequest, dir: string): Promise<LawSights> {
  const { task, paths } = ask
  return withSandbox(task, request, dir, async (lease) => {
    const first = await look(lease, paths, request.signal)
    const shallow = ask.isScored ? await tryShallow(ask, request, lease, first) : { paid: [], tried: 0 }
    const watched = await watchSolution(task, request, lease)
    const after = await look(lease, paths, request.signal)
    const made = await readMade(lease, first.kinds, after.kinds, request.signal)
    const orderMatters = ask.isOrderHidden && ask.isScored ? await tryOrder(ask, request, lease, made) : []
    return {
      workdir: lease.workdir,
      before: first.kinds,
      after: after.kinds,
      ...shallow,
      ...watched,
      made,
      orderMatters,
    }
  })
}

interface Look {
  readonly kinds: ReadonlyMap<string, PathKind>
  readonly files: readonly string[]
}

async function look(lease: SandboxLease, paths: readonly string[], signal: AbortSignal): Promise<Look> {
  const lines = await script(lease, lookScript(paths), { timeoutSec: lookSec, signal })
  const kinds = paths.map((path, nth) => [path, pathKinds.find((kind) => kind === lines[nth]) ?? 'nowhere'] as const)
  return { kinds: new Map(kinds), files: lines.slice(paths.length).filter((line) => line !== '') }
}

/** Where this kind of sandbox can, what the tests change is discarded together with what the shallow solutions made. */
async function tryShallow(
  { task, pays }: LawAsk,
  { hostEnv, signal }: CheckRequest,
  lease: SandboxLease,
  { kinds, files }: Look,
): Promise<{ readonly paid: readonly ShallowSolution[]; readonly tried: number }> {
  const of = (...wanted: PathKind[]) => [...kinds].filter(([, kind]) => wanted.includes(kind)).map(([path]) => path)
  const targets = of('absent', 'nowhere').filter((path) => isUnder(path, lease.workdir) || kinds.get(path) === 'absent')
  const named = of('file')
  const inputs = named.length > 0 ? named : files
  const stubs = await findStubs(task, lease, signal)
  const solutions = inTurns(shallowBodies(stubs), shallowSolutions({ instruction: task.instruction, targets, inputs }))
  if (solutions.length === 0) return { paid: [], tried: 0 }
  await lease.freeze({ scratch: true })
  await upload(lease, testsDir(task.dir), `${sandboxPaths.tests}/test.sh`, signal)
  const { user, env } = task.verifier
  const options = { env: resolveEnv(env, hostEnv), ...(user !== undefined && { user }), signal }
  const limitSec = Math.min(testsSec, task.verifier.timeoutSec)
  const kept = [...new Set(stubs.map(({ path }) => path))]
  const lines = await script(lease, shallowScript({ solutions, targets, kept, limitSec }), {
    ...options,
    timeoutSec: limitSec * (solutions.length + 1),
  })
  await lease.freeze()
  const paid = lines.flatMap((line) => {
    const [, nth = '', kind = '', encoded = ''] = /^(\d+) (txt|json):(\S*)$/.exec(line) ?? []
    const solution = solutions[Number(nth)]
    return solution && kind !== '' && pays(kind === 'txt' ? 'txt' : 'json', decode(encoded)) ? [solution] : []
  })
  return { paid, tried: lines.filter((line) => /^\d+ /.test(line)).length }
}

/** Alternates between two lists: when tests are slow, only the first few solutions are tried. */
function inTurns<T>(one: readonly T[], other: readonly T[]): T[] {
  return [...Array(Math.max(one.length, other.length)).keys()].flatMap((i) => [
    ...one.slice(i, i + 1),
    ...other.slice(i, i + 1),
  ])
}

async function findStubs({ instruction }: Task, lease: SandboxLease, signal: AbortSignal): Promise<Stub[]> {
  if (!mayAskForBodies(instruction)) return []
  return stubsAskedFor(await script(lease, findStubsScript, { timeoutSec: lookSec, signal }), instruction)
}

async function readMade(
  lease: SandboxLease,
  before: ReadonlyMap<string, PathKind>,
  after: ReadonlyMap<string, PathKind>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const isNew = (path: string) => before.get(path) === 'absent' || before.get(path) === 'nowhere'
  const made = [...after].filter(([path, kind]) => kind === 'file' && isNew(path)).map(([path]) => path)
  if (made.length === 0) return new Map()
  const lines = await script(lease, readScript(made), { timeoutSec: lookSec, signal })
  const texts = made.map((path, nth) => [path, decode(lines[nth] ?? '')] as const)
  // An image without `base64` or `head` yields empty text, which says nothing about the file.
  return new Map(texts.filter(([, text]) => text !== ''))
}

/** Which files the tests accept as the solution left them but reject with their lines reversed. */
async function tryOrder(
  { task, pays }: LawAsk,
  { hostEnv, signal }: CheckRequest,
  lease: SandboxLease,
  made: ReadonlyMap<string, string>,
): Promise<string[]> {
  const turned = [...made].filter(([path, text]) => isListOfLines(path, text)).map(([path]) => path)
  if (turned.length === 0) return []
  await upload(lease, testsDir(task.dir), `${sandboxPaths.tests}/test.sh`, signal)
  const { user, env } = task.verifier
  const limitSec = Math.min(testsSec, task.verifier.timeoutSec)
  const lines = await script(lease, orderScript(turned, limitSec), {
    ...{ env: resolveEnv(env, hostEnv), ...(user !== undefined && { user }), signal },
    timeoutSec: limitSec * (turned.length + 2),
  })
  const paid = lines.map((line) => {
    const [, kind = '', encoded = ''] = /^-?\d+ (txt|json):(\S*)$/.exec(line) ?? []
    return kind !== '' && pays(kind === 'txt' ? 'txt' : 'json', decode(encoded))
  })
  return paid[0] === true ? turned.filter((_, nth) => paid[nth + 1] === false) : []
}

function isListOfLines(path: string, text: string): boolean {
  const lines = text.trimEnd().split('\n')
  return /\/[^./]+$|\.(?:txt|csv|tsv|list|out)$/.test(path) && new Set(lines).size > 1 && text.length < madeBytes
}

async function watchSolution(
  task: Task,
  { hostEnv, signal }: CheckRequest,
  lease: SandboxLease,
): Promise<{ readonly stderr: string; readonly pipes: readonly string[] }> {
  await upload(lease, solutionDir(task.dir), `${sandboxPaths.solution}/solve.sh`, signal)
  const { user, timeoutSec } = task.agent
  const env = { DEBIAN_FRONTEND: 'noninteractive', ...resolveEnv(task.solution.env, hostEnv) }
  const options = { env, ...(user !== undefined && { user }), signal, ...(timeoutSec && { timeoutSec }) }
  const [, stderr = '', pipes = ''] = await script(lease, watchScript(), options)
  return { stderr: decode(stderr), pipes: decode(pipes).split('\n').filter(Boolean) }
}

/** An agent that applies a shallow solution, for the trial that confirms what the shared sandbox showed. */
export function shallowAgent({ script: commands }: ShallowSolution): Agent {
  return {
    name: 'shallow',
    version: '1.0.0',
    async solve(at) {
      const options = { timeoutSec: 60, signal: at.signal, ...(at.user !== undefined && { user: at.user }) }
      await at.sandbox.exec(['bash', '-c', commands], options)
      return { kind: 'finished' }
    },
  }
}

async function script(lease: SandboxLease, text: string, options: ExecOptions): Promise<string[]> {
  const { stdout, timedOut } = await lease.exec(['bash', '-c', text], options)
  if (timedOut) throw new BoundaryError('sandbox', 'a script of the laws did not finish in time')
  return stdout.split('\n')
}

async function upload(lease: SandboxLease, dir: string, program: string, signal: AbortSignal) {
  await lease.uploadDir(dir, dirname(program))
  const { mode } = await stat(join(dir, basename(program)))
  if ((mode & 0o111) !== 0o111) await lease.exec(['chmod', '+x', program], { user: 'root', signal })
}

function isUnder(path: string, dir: string): boolean {
  const top = `/${dir.split('/')[1] ?? ''}/`
  return top !== '//' && path.startsWith(top)
}

function decode(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}
