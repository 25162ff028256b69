import type { Healthcheck } from '../../core/task.ts'

/** A file whose text is in the Dockerfile. */
export interface InlineFile {
  readonly name: string
  readonly content: string
}

export interface RunStep {
  readonly kind: 'run'
  readonly line: number
  /** One line for people. */
  readonly title: string
  readonly argv: readonly string[]
  /** ARGs and ENVs in force. */
  readonly env: Readonly<Record<string, string>>
  readonly user: string | undefined
  readonly workdir: string
  readonly network: 'host' | 'none'
  /** A heredoc that is a program in its own right; `argv` starts it in `scriptsDir`. */
  readonly script: InlineFile | null
}

export interface CopyStep {
  readonly kind: 'copy'
  readonly line: number
  readonly title: string
  readonly name: 'COPY' | 'ADD'
  /** Index of the stage to copy from; null for the build context. */
  readonly from: number | null
  /** Paths or patterns, in order; an inline file stands for its own text. */
  readonly sources: readonly (string | InlineFile)[]
  /** Absolute; ends in a slash if it must be a directory. */
  readonly dest: string
  /** `user` or `user:group`, names or numbers; null for root. */
  readonly chown: string | null
  readonly chmod: string | null
  readonly unpack: boolean
}

/** A directory that must exist: from WORKDIR or VOLUME. */
export interface DirectoryStep {
  readonly kind: 'directory'
  readonly line: number
  readonly title: string
  readonly path: string
  /** Its owner if it has to be created. */
  readonly user: string | undefined
}

export type Step = RunStep | CopyStep | DirectoryStep

export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: string | undefined
  readonly entrypoint: readonly string[] | null
  readonly healthcheck: Healthcheck | null
}

export interface PlannedStage {
  readonly index: number
  readonly line: number
  readonly base: { readonly image: string } | { readonly stage: number }
  readonly steps: readonly Step[]
  readonly config: ImageConfig
}

/** How to build the image: the stages it needs, in order, with the image itself last. */
export interface Plan {
  readonly file: string
  readonly stages: readonly PlannedStage[]
  /** What a reader of the results should know. */
  readonly notes: readonly string[]
}

/** Where the program in a RUN heredoc that starts with `#!` is placed. */
export const scriptsDir = '/dev/pipes'
