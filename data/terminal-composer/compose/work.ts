import type { Draws } from 'ot-agent'
import type { Words } from './wording.ts'

export const levels = ['easy', 'medium', 'hard'] as const
export type Level = (typeof levels)[number]

/** Programs that some operations need and that are not among Debian's essential packages. */
export const tools = ['git', 'sqlite3', 'make', 'gcc'] as const
export type Tool = (typeof tools)[number]

/** An entry in a folder. A mode is octal digits, checked only if given. */
export type Entry =
  | { readonly kind: 'file'; readonly data: string | Uint8Array; readonly mode?: string }
  | { readonly kind: 'link'; readonly to: string }
  | { readonly kind: 'dir'; readonly mode?: string }
  /** A file whose content probes check. */
  | { readonly kind: 'some'; readonly mode?: string }

/** The content of a folder by relative path. */
export type Tree = Readonly<Record<string, Entry>>

/**
 * A command that must print exactly this. It runs in the work folder; `$hidden` is the folder of hidden files,
 * `$scratch` an empty one.
 */
export interface Probe {
  readonly command: string
  readonly stdout: string
}

/** What an operation draws: the folder before and after, how to ask for the change, and how to make it. */
export interface Work {
  /** Paragraphs of the instruction. */
  readonly ask: readonly string[]
  readonly before: Tree
  /** Shell commands that add to it in the work folder when the environment is built. */
  readonly setup?: readonly string[]
  /** What must be there in the end; anything from `before` that is not listed here must be gone. */
  readonly after: Tree
  /** Whether anything that is not in `after` makes the work wrong. */
  readonly closed: boolean
  readonly probes?: readonly Probe[]
  /** Files that only the verifier sees. */
  readonly hidden?: Readonly<Record<string, string | Uint8Array>>
  /** Shell code that does the work, run in the work folder. */
  readonly solve: string
  readonly axes: Axes
}

/** A task's position in the sampled space. */
export interface Axes {
  readonly domain: string
  readonly operation: string
  readonly shape: string
  readonly constraints: readonly string[]
  readonly faults: readonly string[]
}

/** What an operation draws from. */
export interface Draw {
  readonly random: Draws
  readonly words: Words
  readonly level: Level
  /** The absolute path of the work folder. */
  readonly root: string
}

/** A kind of work in some domains. Null means that this draw gave nothing worth asking for: draw again. */
export interface Operation {
  readonly name: string
  readonly domains: readonly string[]
  readonly needs?: readonly Tool[]
  /**
   * The highest difficulty it is labeled with: larger inputs make it no harder, as weaker solvers show (../README.md).
   */
  readonly hardest?: Level
  make(draw: Draw, domain: string): Work | null
}

/** A file of a tree. */
export function file(data: string | Uint8Array, mode?: string): Entry {
  return mode === undefined ? { kind: 'file', data } : { kind: 'file', data, mode }
}

/** The easier of two levels. */
export function easierOf(one: Level, other: Level): Level {
  return levels.indexOf(one) < levels.indexOf(other) ? one : other
}

/** A number that grows with the level. */
export function byLevel(level: Level, easy: number, medium: number, hard: number): number {
  return { easy, medium, hard }[level]
}
