import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { namesIn } from './files.ts'
import { identify } from './process-identity.ts'

/** How the name of something ends while it is being made. It says who makes it, so that others know what a dead process left. */
export const halfMade = `.${hostname()}-${process.pid}.tmp`

/** Removes what processes of this machine that are dead left half-made in a directory. */
export async function removeHalfMade(dir: string): Promise<void> {
  for (const name of await namesIn(dir)) {
    const [, pid = ''] = /-(\d+)\.tmp$/.exec(name) ?? []
    if (name.endsWith(`.${hostname()}-${pid}.tmp`) && identify(Number(pid)) === null)
      await rm(join(dir, name), { recursive: true, force: true })
  }
}
