import type { PlannedTrial } from '../job/plan.ts'

/** What sandboxes ask of a machine. */
export interface Resources {
  readonly cpus: number
  readonly memoryMb: number
}

/** What a sandbox is taken to need when its task does not say. */
const unsaid: Resources = { cpus: 1, memoryMb: 2048 }

/** What the sandbox of a trial asks for; the job's overrides win. */
export function resourcesOf({ task: { environment }, config }: Pick<PlannedTrial, 'task' | 'config'>): Resources {
  const { overrideCpus, overrideMemoryMb } = config.environment
  return {
    cpus: overrideCpus ?? environment.cpus ?? unsaid.cpus,
    memoryMb: overrideMemoryMb ?? environment.memoryMb ?? unsaid.memoryMb,
  }
}

/** Counts what sandboxes ask for together. Running sandboxes count, room or not: only prefetched ones wait for room. */
export interface Room {
  fits(asked: Resources): boolean
  /** Counts a trial's sandbox; one that counts already is not counted twice. */
  enter(trial: string, asked: Resources): void
  leave(trial: string): void
}

export function makeRoom(limit: Resources): Room {
  const inside = new Map<string, Resources>()
  const total = (key: keyof Resources) => [...inside.values()].reduce((sum, asked) => sum + asked[key], 0)
  return {
    fits: (asked) => total('cpus') + asked.cpus <= limit.cpus && total('memoryMb') + asked.memoryMb <= limit.memoryMb,
    enter: (trial, asked) => void inside.set(trial, asked),
    leave: (trial) => void inside.delete(trial),
  }
}
