import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { namesIn } from './files.ts'
import { identify, livenessOf, markName, ourselves, parseMarkName } from './process-identity.ts'

/** How the name of something ends while it is being made. It says who makes it, so that others know what a dead process left. */
export const halfMade = `.${markName(ourselves())}.tmp`

/** Removes what processes that are known to be dead left half-made in a directory. */
export async function removeHalfMade(dir: string): Promise<void> {
  for (const name of await namesIn(dir))
    if (isLeftHalfMade(name)) await rm(join(dir, name), { recursive: true, force: true })
}

/** Whether a name is that of something whose maker died before it was finished. */
export function isLeftHalfMade(name: string, ownersDir?: string): boolean {
  const maker = parseMarkName(/\.([^.]+)\.tmp$/.exec(name)?.[1] ?? '')
  if (maker !== null) return livenessOf(maker, ownersDir === undefined ? {} : { ownersDir }) === 'dead'
  // As earlier versions named them.
  const [, pid = ''] = /-(\d+)\.tmp$/.exec(name) ?? []
  return name.endsWith(`.${hostname()}-${pid}.tmp`) && identify(Number(pid)) === null
}
