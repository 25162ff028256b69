import type { Healthcheck, User } from '../../core/task.ts'

/** What a cloud's machines start from, and how commands in them run. */
export interface CloudImage {
  /** As the cloud knows it. */
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Undefined: wherever the machine starts programs by itself. */
  readonly workdir: string | undefined
  readonly user: User | undefined
  readonly entrypoint: readonly string[] | null
  readonly healthcheck: Healthcheck | null
  readonly notes: readonly string[]
}

/** Of an image without a description. */
export function plainImage(name: string): CloudImage {
  return { name, env: {}, workdir: undefined, user: undefined, entrypoint: null, healthcheck: null, notes: [] }
}
