import type { Healthcheck, User } from '../../core/task.ts'

/** What a cloud's machines start from, and how their commands run. */
export interface CloudImage {
  /** As the cloud knows it. */
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Undefined: the directory in which the machine starts programs by default. */
  readonly workdir: string | undefined
  readonly user: User | undefined
  readonly entrypoint: readonly string[] | null
  readonly healthcheck: Healthcheck | null
  readonly notes: readonly string[]
}

/** For an image without a description. */
export function plainImage(name: string): CloudImage {
  return { name, env: {}, workdir: undefined, user: undefined, entrypoint: null, healthcheck: null, notes: [] }
}
