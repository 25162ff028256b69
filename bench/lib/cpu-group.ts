import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A control group that measures CPU time, including all groups below it and processes that have ended. */
export interface CpuGroup {
  /** Its path in the hierarchy, for an engine's `--cgroup-parent`. */
  readonly path: string
  cpuSec(): number
  /** Runs work while this process is in the group; processes started meanwhile stay in it. */
  within<T>(work: () => Promise<T>): Promise<T>
  /** Removes it and the empty groups below it. */
  remove(): void
}

export function makeCpuGroup(path: string): CpuGroup {
  const isOne = existsSync('/sys/fs/cgroup/cgroup.controllers')
  const root = isOne ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpuacct'
  const dir = join(root, path)
  mkdirSync(dir, { recursive: true })
  const move = (to: string) => writeFileSync(join(to, 'cgroup.procs'), String(process.pid))
  return {
    path,
    cpuSec: () =>
      isOne
        ? Number(/^usage_usec (\d+)/m.exec(readFileSync(join(dir, 'cpu.stat'), 'utf8'))?.[1]) / 1e6
        : Number(readFileSync(join(dir, 'cpuacct.usage'), 'utf8')) / 1e9,
    within: async (work) => {
      const before = readFileSync('/proc/self/cgroup', 'utf8')
        .split('\n')
        .map((line) => line.split(':'))
        .find(([, controllers = '']) => (isOne ? controllers === '' : controllers.split(',').includes('cpuacct')))
      move(dir)
      try {
        return await work()
      } finally {
        move(join(root, before?.[2] ?? ''))
      }
    },
    remove: () => removeBelow(dir),
  }
}

function removeBelow(dir: string): void {
  for (const entry of readdirSync(dir, { withFileTypes: true }))
    if (entry.isDirectory()) removeBelow(join(dir, entry.name))
  try {
    rmdirSync(dir)
  } catch {
    // A process is still in it; an empty group costs nothing.
  }
}
