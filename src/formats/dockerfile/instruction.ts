import type { Heredoc } from './lines.ts'

/** What RUN, CMD, ENTRYPOINT and HEALTHCHECK start: a shell line, or a program with its arguments. */
export type Command =
  | { readonly form: 'shell'; readonly text: string }
  | { readonly form: 'exec'; readonly argv: readonly string[] }

export interface RunMount {
  readonly type: string
  /** The other keys, as written. */
  readonly options: Readonly<Record<string, string>>
}

export interface RunInstruction {
  readonly kind: 'run'
  readonly line: number
  readonly command: Command
  readonly heredocs: readonly Heredoc[]
  readonly mounts: readonly RunMount[]
  readonly network: 'host' | 'none'
}

export interface CopyInstruction {
  readonly kind: 'copy'
  readonly line: number
  readonly name: 'COPY' | 'ADD'
  /** Words still to be expanded; a heredoc's mark is replaced by its text. */
  readonly sources: readonly (string | Heredoc)[]
  readonly dest: string
  readonly from: string | null
  readonly chown: string | null
  readonly chmod: string | null
  /** Whether a local archive is unpacked. */
  readonly unpack: boolean
}

export interface HealthcheckInstruction {
  readonly kind: 'healthcheck'
  readonly line: number
  /** Null for NONE. */
  readonly command: Command | null
  readonly intervalSec: number
  readonly timeoutSec: number
  readonly startPeriodSec: number
  readonly startIntervalSec: number
  readonly retries: number
}

export type Instruction =
  | RunInstruction
  | CopyInstruction
  | HealthcheckInstruction
  | { readonly kind: 'env'; readonly line: number; readonly pairs: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: 'arg'; readonly line: number; readonly args: readonly Argument[] }
  | { readonly kind: 'workdir'; readonly line: number; readonly path: string }
  | { readonly kind: 'user'; readonly line: number; readonly user: string }
  | { readonly kind: 'shell'; readonly line: number; readonly argv: readonly string[] }
  | { readonly kind: 'entrypoint'; readonly line: number; readonly command: Command }
  | { readonly kind: 'cmd'; readonly line: number; readonly command: Command }
  | { readonly kind: 'volume'; readonly line: number; readonly paths: readonly string[] }
  /** EXPOSE, LABEL, MAINTAINER, STOPSIGNAL: image metadata that affects neither files nor commands. */
  | { readonly kind: 'label'; readonly line: number }
  /** Well-formed, but unsupported; an error only if its stage is needed. */
  | { readonly kind: 'refused'; readonly line: number; readonly reason: string }

export interface Argument {
  readonly name: string
  /** Null without a default. */
  readonly value: string | null
}

export interface Stage {
  readonly line: number
  /** Lower case; null without AS. */
  readonly name: string | null
  /** Still to be expanded. */
  readonly image: string
  readonly platform: string | null
  readonly instructions: readonly Instruction[]
}

/** A Dockerfile, parsed but not yet expanded. */
export interface Dockerfile {
  readonly file: string
  readonly escapeChar: string
  /** ARGs before the first FROM. */
  readonly globalArgs: readonly { readonly line: number; readonly args: readonly Argument[] }[]
  /** At least one. */
  readonly stages: readonly Stage[]
}
