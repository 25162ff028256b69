import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exhaustedBy } from './exhaustion.ts'
import { codeOf } from './files.ts'
import { markName, ourselves } from './process-identity.ts'

export type LimitName = 'cpu' | 'memory' | 'pids'

/** One hierarchy we may make groups in. Version 1 hosts have one per controller, version 2 hosts a single one. */
export interface Hierarchy {
  readonly version: 1 | 2
  readonly root: string
  readonly controllers: readonly LimitName[]
}

/** The hierarchies of version 1, 2 or both in which groups can really be made under a name. Never throws. */
export function usableHierarchies(name: string): Hierarchy[] {
  const mounts = readMounts()
  return [...mounts.v1, ...mounts.v2].filter((hierarchy) => prepare(hierarchy, name))
}

function readMounts(): { v1: Hierarchy[]; v2: Hierarchy[] } {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const own = readOwnGroups()
  const v1: Hierarchy[] = []
  const v2: Hierarchy[] = []
  for (const line of lines) {
    const [before = '', after = ''] = line.split(' - ')
    const mountPoint = before.split(' ')[4] ?? ''
    const [type, , options = ''] = after.split(' ')
    if (type === 'cgroup') {
      const controllers = limitNames(options.split(','))
      if (controllers.length > 0) v1.push({ version: 1, root: mountPoint, controllers })
    } else if (type === 'cgroup2') {
      v2.push(
        { version: 2, root: mountPoint, controllers: [] },
        { version: 2, root: join(mountPoint, own, '..'), controllers: [] },
      )
    }
  }
  return { v1, v2: firstUsableV2(v2) }
}

/**
 * A version 2 hierarchy is usable if a controller can be enabled for our groups: at its root, or next to our own group
 * if that was delegated to us.
 */
function firstUsableV2(candidates: readonly Hierarchy[]): Hierarchy[] {
  for (const { root } of candidates) {
    const available = limitNames(readWords(join(root, 'cgroup.controllers')))
    for (const name of available) write(join(root, 'cgroup.subtree_control'), `+${name}`)
    const controllers = limitNames(readWords(join(root, 'cgroup.subtree_control')))
    if (controllers.length > 0) return [{ version: 2, root, controllers }]
  }
  return []
}

function readOwnGroups(): string {
  const line = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .find((text) => text.startsWith('0::'))
  return line?.slice(3) ?? '/'
}

/** Makes our common parent group; false if this process may not, or may not move processes into it. */
function prepare({ version, root, controllers }: Hierarchy, name: string): boolean {
  const dir = join(root, name)
  // Named like a sandbox of this process, so that cleanup removes one left behind by kill -9.
  const probe = join(dir, `${randomBytes(6).toString('hex')}-${markName(ourselves())}`)
  try {
    mkdirSync(probe, { recursive: true })
    if (version === 2)
      for (const controller of controllers) writeFileSync(join(dir, 'cgroup.subtree_control'), `+${controller}`)
    return readdirSync(probe).includes('cgroup.procs') && canWrite(join(probe, 'cgroup.procs'))
  } catch {
    return false
  } finally {
    tryRmdir(probe)
  }
}

/** Writing an impossible pid gives ESRCH if a move would be allowed. */
function canWrite(procs: string): boolean {
  try {
    writeFileSync(procs, '4194304')
    return true
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

function limitNames(words: readonly string[]): LimitName[] {
  return (['cpu', 'memory', 'pids'] as const).filter((name) => words.includes(name))
}

/** The words of a control file; empty if it cannot be read. */
export function readWords(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/)
  } catch (error) {
    if (exhaustedBy(error) !== null) throw error
    return []
  }
}

/** Writes a control file, if the kernel lets us. */
export function write(path: string, value: string): void {
  try {
    writeFileSync(path, value)
  } catch {
    // A limit that the kernel refuses shows up as not enforced; it must not stop a sandbox.
  }
}

/** Removes an empty group; true when it no longer exists. */
export function tryRmdir(dir: string): boolean {
  try {
    rmdirSync(dir)
    return true
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}
