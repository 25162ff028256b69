import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { readJson } from './parse-json.ts'
import {
  identitySchema,
  markedOurselves,
  markName,
  markState,
  type ProcessIdentity,
  parseMarkName,
} from './process-identity.ts'

/**
 * A file of lines that a process keeps for others to read after its death: `<dir>/<mark>`. Its first line says who
 * wrote it.
 */
export class ProcessNotes {
  #lines = new Set<string>()
  readonly #path: string
  readonly #head: string

  /** Null where no mark can be held: other PID namespaces would consider the writer dead. */
  static open(dir: string, ownersDir: string): ProcessNotes | null {
    const identity = markedOurselves(ownersDir)
    const mark = markName(identity)
    if (markState(ownersDir, mark) !== 'alive') return null
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return new ProcessNotes(join(dir, mark), identity)
  }

  private constructor(path: string, identity: ProcessIdentity) {
    this.#path = path
    this.#head = `${JSON.stringify(identity)}\n`
  }

  get size(): number {
    return this.#lines.size
  }

  /** Writes a line, unless it is already there. */
  add(line: string): void {
    if (this.#lines.has(line)) return
    const head = this.#lines.size === 0 ? this.#head : ''
    appendFileSync(this.#path, `${head}${JSON.stringify(line)}\n`, { mode: 0o600 })
    this.#lines.add(line)
  }

  /** Keeps only these lines. */
  keep(lines: Iterable<string>): void {
    this.#lines = new Set(lines)
    const draft = join(dirname(this.#path), `.${markOf(this.#path)}.tmp`)
    const text = [...this.#lines].map((line) => `${JSON.stringify(line)}\n`).join('')
    writeFileSync(draft, this.#head + text, { mode: 0o600 })
    renameSync(draft, this.#path)
  }

  remove(): void {
    rmSync(this.#path, { force: true })
  }
}

/** What one process recorded. */
export interface Noted {
  readonly path: string
  readonly mark: string
  readonly process: ProcessIdentity
  readonly lines: readonly string[]
  /** Milliseconds since 1970. */
  readonly changedMs: number
}

/** The notes of every process, living and dead; a file that was being shortened counts separately. */
export function readNotes(dir: string): Noted[] {
  return namesIn(dir).flatMap((name) => {
    const path = join(dir, name)
    const mark = markOf(path)
    const named = parseMarkName(mark)
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (named === null || changedMs === undefined) return []
    const [head, ...lines] = linesIn(path)
    const identity = identitySchema.safeParse(head)
    const process = identity.success ? identity.data : named
    return [{ path, mark, process, lines: lines.filter((line) => typeof line === 'string'), changedMs }]
  })
}

function markOf(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/^\.|\.tmp$/g, '')
}

/** Skips broken lines: a process may have died, or a disk may have been full, in the middle of one. */
function linesIn(path: string): unknown[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    return lines.flatMap((line) => {
      try {
        return [readJson(line)]
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
