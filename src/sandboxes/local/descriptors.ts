import { readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * Open files that this process inherited and that every program it starts would inherit.
 * Node closes the low ones by itself; the rest must not reach a sandbox.
 */
export function inheritedDescriptors(): number[] {
  const numbers = readdirSync('/proc/self/fd').map(Number)
  return numbers.filter((fd) => fd > 9 && isInherited(fd))
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    return false
  }
}

const leaked = inheritedDescriptors()

/** The shell for our scripts: dash starts faster, but only bash can close a descriptor above 9. */
export const shell = leaked.length > 0 ? '/bin/bash' : '/bin/sh'

/** Lines that close what must not be inherited. */
export const closeInherited: readonly string[] = leaked.map((fd) => `exec ${fd}>&-`)
