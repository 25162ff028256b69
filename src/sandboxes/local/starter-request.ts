import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { packageRoot } from '../../lib/package-root.ts'

/** The program that takes requests. It ships with this package for x64 and arm64; its source is next to it. */
export const starterProgram = join(packageRoot, 'src/sandboxes/local/starter/prebuilt', `starter-${process.arch}`)

/** A sandbox that a command enters without another program: starter/inside.c explains how. */
interface Inside {
  /** The file of its namespace of processes. */
  readonly pidns: string
  /** A filter of system calls, in the kernel's format. */
  readonly seccompFile: string
  /** The capabilities to keep, one bit each. */
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
  /** The process joins control groups by writing to these files. */
  readonly joinFiles?: readonly string[]
  /** Files to open for reading, by descriptor number. */
  readonly files?: readonly (readonly [number: number, path: string])[]
  /** The same for words that are not in a file, each ended by a NUL; at most `mostText` bytes in total. */
  readonly text?: readonly [number: number, words: readonly string[]] | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly argv: readonly string[]
  /** How it enters a sandbox by itself; the variables are then its whole environment. */
  readonly inside?: Inside | undefined
  /**
   * Which of 1, 2 and 3 are read; the first two are /dev/null otherwise. The third is a short report, read when the
   * program has ended.
   */
  readonly streams: readonly number[]
  /** A terminal takes the place of its first three: the near end is open in this process as `fd`. */
  readonly terminal?: { readonly fd: number; readonly cols: number; readonly rows: number }
  /** At most one byte more than this arrives from each stream. */
  readonly limitBytes: number
}

/**
 * The starter may not take a terminal over from this process, for example on machines where no process may examine
 * another.
 */
export class NoTerminalError extends Error {
  override readonly name = 'NoTerminalError'
}

/** What a pipe holds without a reader. */
export const mostText = 60_000

/** Far more than the kernel allows for a program; the starter exits on an even longer request. */
const mostLetters = 8_000_000

/** A request in the format of starter/requests.c: four words, then each list after its length. */
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
