import { createHash } from 'node:crypto'
import { type DraftFile, type Draws, makeDraws, type TaskDraft } from 'ot-agent'
import { isDoneAlready, renderTests } from './checker.ts'
import { renderEnvironment } from './environment.ts'
import { operations } from './operations.ts'
import { type Wordings, wordsFor } from './wording.ts'
import { adjectives, nouns } from './words.ts'
import { easierOf, type Level, levels, type Operation, type Tool, type Work } from './work.ts'

/** Which part of the space to draw from; all of it by default. */
export interface ComposeRequest {
  readonly seed: number
  readonly index: number
  readonly domains?: readonly string[]
  readonly operations?: readonly string[]
  readonly levels?: readonly Level[]
  /** Default: usual. */
  readonly wordings?: Wordings
  /** Programs available in sandboxes besides essential ones. */
  readonly tools?: readonly Tool[]
}

/** The programs that a domain or an operation needs besides essential ones. */
export function toolsOf(domainOrOperation: string): readonly Tool[] {
  const own = operations.filter(({ name, domains }) => [name, ...domains].includes(domainOrOperation))
  return [...new Set(own.flatMap(({ needs = [] }) => needs))]
}

type Prepared = Work & { readonly needs: readonly Tool[]; readonly difficulty: Level }

/** Every domain, sorted. */
export const domainNames: readonly string[] = [...new Set(operations.flatMap(({ domains }) => domains))].sort()

/** Every operation, sorted. */
export const operationNames: readonly string[] = operations.map(({ name }) => name).sort()

/** The task at an index of the sample: the same seed and index give the same task, byte for byte. */
export function composeTask(request: ComposeRequest): TaskDraft {
  const { seed, index } = request
  const choice = makeDraws(seed, `compose/${index}`)
  const level = choice.pick(request.levels ?? levels)
  const { domain, operation } = drawPlace(choice, request, level)
  const words = wordsFor(request.wordings ?? 'usual', seed, index)
  const difficulty = easierOf(level, operation.hardest ?? 'hard')
  for (let attempt = 0; attempt < 200; attempt++) {
    const random = choice.fork(`attempt ${attempt}`)
    // The number makes every instruction and every environment in a sample unique.
    const root = `${random.pick(['/app', '/srv', '/data', '/opt', '/work'])}/${random.pick(adjectives)}-${random.pick(nouns)}-${index}`
    const work = operation.make({ random, words, level, root }, domain)
    if (work && !isDoneAlready(work))
      return draftOf(request, level, root, {
        ...work,
        ask: words.frame(work.ask),
        needs: operation.needs ?? [],
        difficulty,
      })
  }
  throw new Error(
    `operation ${operation.name} in domain ${domain}: no task in 200 draws (seed ${seed}, index ${index})`,
  )
}

/**
 * A task with the instruction of another operation, for its own directory: neither its solution nor its tests match it.
 */
export function composeWrongTask(request: ComposeRequest): TaskDraft {
  const draft = composeTask(request)
  for (let offset = 1_000_000; ; offset++) {
    const { operations: _, levels: __, ...same } = request
    const other = composeTask({ ...same, index: request.index + offset })
    if (operationOf(other) === operationOf(draft)) continue
    return { ...draft, instruction: other.instruction.replaceAll(rootOf(other), rootOf(draft)) }
  }
}

function operationOf({ name }: TaskDraft): string {
  return name.replace(/^compose-[a-z]+-|-\d+$/g, '')
}

function rootOf({ files }: TaskDraft): string {
  return /^cd (.+)$/m.exec(String(files['solution/solve.sh']?.data))?.[1] ?? ''
}

/**
 * Draws the domain first, evenly, then one of its operations. If levels are requested, operations that never get that
 * hard are left out.
 */
function drawPlace(choice: Draws, request: ComposeRequest, level: Level): { domain: string; operation: Operation } {
  const possible = operations.filter(
    ({ name, domains, needs = [] }) =>
      (request.operations?.includes(name) ?? true) &&
      (request.domains === undefined || domains.some((domain) => request.domains?.includes(domain))) &&
      needs.every((tool) => request.tools?.includes(tool)),
  )
  const hard = request.levels ? possible.filter(({ hardest = 'hard' }) => easierOf(level, hardest) === level) : possible
  const wanted = hard.length > 0 ? hard : possible
  const reachable = domainNames.filter((name) => wanted.some(({ domains }) => domains.includes(name)))
  const domain = choice.pick(reachable.filter((name) => request.domains?.includes(name) ?? true))
  return { domain, operation: choice.pick(wanted.filter(({ domains }) => domains.includes(domain))) }
}

function draftOf({ seed, index }: ComposeRequest, level: Level, root: string, work: Prepared): TaskDraft {
  const { domain, operation, shape, constraints, faults } = work.axes
  const axes = { domain, operation, shape, constraints: [...constraints], faults: [...faults], level }
  return {
    name: `compose-${domain}-${operation}-${String(index).padStart(6, '0')}`,
    instruction: `${work.ask.join('\n\n')}\n`,
    files: {
      ...renderEnvironment(root, work.before, work),
      ...renderTests(root, work),
      'solution/solve.sh': { data: solveScript(root, work.solve), executable: true },
    },
    config: {
      metadata: { difficulty: work.difficulty, category: domain, tags: [operation, ...constraints, ...faults], axes },
      verifier: { timeout_sec: 120 },
      agent: { timeout_sec: 900 },
      environment: { cpus: 1, memory_mb: 512, storage_mb: 1024, allow_internet: false },
    },
    lineage: {
      pipeline: 'terminal-composer',
      strategy: 'compose',
      rowId: `${seed}-${index}`,
      rowDigest: createHash('sha256')
        .update(JSON.stringify({ ...axes, seed, index }))
        .digest('hex'),
      seed,
    },
  }
}

function solveScript(root: string, body: string): string {
  return `#!/bin/bash\nset -euo pipefail\nexport LC_ALL=C\ncd ${root}\n${body.trimEnd()}\n`
}

/** The digest of what a task's environment is built from: paths and content. */
export function environmentDigest(files: Readonly<Record<string, DraftFile>>): string {
  const hash = createHash('sha256')
  for (const path of Object.keys(files)
    .filter((name) => name.startsWith('environment/'))
    .sort()) {
    const data = files[path]?.data ?? ''
    hash.update(`${path}\0${createHash('sha256').update(data).digest('hex')}\n`)
  }
  return hash.digest('hex')
}
