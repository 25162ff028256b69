import { BoundaryError } from '../../../core/errors.ts'
import type { Dockerfile } from '../instruction.ts'
import { planDockerfile } from '../plan.ts'

/** Where a RUN of a Dockerfile stands, as far as it decides what a program sees. */
export interface RunPlace {
  /** The user that runs it; null for the user that a sandbox's commands run as. */
  readonly user: string | null
  /** What later lines put before the PATH that it had. */
  readonly dropPath: string
}

/** The places of all RUN lines by their line; none where the file asks for more than can be followed here. */
export function readRunPlaces(dockerfile: Dockerfile): ReadonlyMap<number, RunPlace> {
  try {
    const { stages } = planDockerfile(dockerfile, `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`)
    const end = stages.at(-1)?.config
    const last = end?.env.PATH ?? ''
    // Where nothing is said, it is the base image's user; before a USER that is nearly always root.
    const unsaid = end?.user === undefined ? null : 'root'
    const runs = stages.flatMap(({ steps }) => steps).filter((step) => step.kind === 'run')
    return new Map(
      runs.map(({ line, user, env }) => {
        const path = env.PATH ?? ''
        const dropPath = last.endsWith(`:${path}`) ? last.slice(0, last.length - path.length) : ''
        return [line, { user: user?.split(':')[0] ?? unsaid, dropPath }]
      }),
    )
  } catch (error) {
    if (error instanceof BoundaryError) return new Map()
    throw error
  }
}
