import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { packageRoot } from '../../lib/package-root.ts'

/** The program that takes requests. It comes with this package for x64 and arm64; its source is beside it. */
export const starterProgram = join(packageRoot, 'src/sandboxes/local/starter/prebuilt', `starter-${process.arch}`)

/** A sandbox that a command gets into without another program: starter/inside.c says how. */
interface Inside {
  /** The file of its namespace of processes. */
  readonly pidns: string
  /** A filter of calls, as the kernel takes it. */
  readonly seccompFile: string
  /** The capabilities that stay, a bit for each. */
  readonly capabilities: number
  readonly cwd: string
  /** Where the root is mounted. */
  readonly merged: string
  /** Mounted inside, in order: kind (`rw`, `ro`, or `hide` for an empty directory), place and source of each. */
  readonly plan: readonly string[]
}

/** A program to start in namespaces, as root of the user namespace of all sandboxes. */
export interface StartRequest {
  readonly ids: { readonly usernsPid: number; readonly first: number }
  /** Mounted first, in a new mount namespace. */
  readonly mounts?: { readonly home: string; readonly plan: readonly string[] } | undefined
  /** Files of namespaces to enter. */
  readonly namespaces?: readonly string[]
  /** The process joins control groups by writing into these. */
  readonly joinFiles?: readonly string[]
  /** What is open for reading, by number. */
  readonly files?: readonly (readonly [number: number, path: string])[]
  /** The same for words that are in no file, each ended by a NUL; at most `mostText` bytes of them. */
  readonly text?: readonly [number: number, words: readonly string[]] | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly argv: readonly string[]
  /** How it gets into a sandbox by itself; the variables are then all that it has. */
  readonly inside?: Inside | undefined
  /** Which of 1, 2 and 3 are read; the first two are /dev/null otherwise. The third is a short report, read when the program has ended. */
  readonly streams: readonly number[]
  /** A terminal is its first three instead: the near end is open in this process under `fd`. */
  readonly terminal?: { readonly fd: number; readonly cols: number; readonly rows: number }
  /** Of each stream one byte more than these arrives, and no more. */
  readonly limitBytes: number
}

/** The starter may not take a terminal over from this process, as on machines where no process may look into another. */
export class NoTerminalError extends Error {
  override readonly name = 'NoTerminalError'
}

/** What a pipe takes without a reader. */
export const mostText = 60_000

/** Far more than the kernel lets a program have; the starter ends where a request is longer still. */
const mostLetters = 8_000_000

/** A request as starter/requests.c takes it: four words, and then each list after its length. */
export function requestWords(request: StartRequest): string[] {
  const { ids, mounts, inside, terminal } = request
  const lists = [
    mounts?.plan ?? [],
    request.streams,
    request.joinFiles ?? [],
    request.namespaces ?? [],
    request.files?.flat() ?? [],
    request.text?.flat() ?? [],
    Object.entries(request.env ?? {}).map(([name, value]) => `${name}=${value}`),
    request.argv,
    inside ? [inside.pidns, inside.seccompFile, inside.capabilities, inside.cwd, inside.merged, ...inside.plan] : [],
    terminal ? [terminal.fd, terminal.cols, terminal.rows] : [],
  ]
  const words = [
    ...[mounts?.home ?? '', ids.first, `/proc/${ids.usernsPid}/ns/user`, request.limitBytes],
    ...lists.flatMap((list) => [list.length, ...list]),
  ].map(String)
  if (words.some((word) => word.includes('\0')))
    throw new BoundaryError('task', 'a command holds a NUL character', { retryable: false })
  if (words.reduce((sum, word) => sum + word.length, 0) > mostLetters)
    throw new BoundaryError('task', `a command and its variables have over ${mostLetters} letters`, {
      retryable: false,
    })
  return words
}
