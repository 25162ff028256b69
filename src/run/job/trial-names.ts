import { createHash } from 'node:crypto'

/** The letters of Harbor's short ids: no 0, 1, I, O, l. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** What makes a trial the one it is. */
export interface TrialKey {
  readonly jobName: string
  readonly taskName: string
  readonly digest: string
  /** Anything that tells the job's agents apart. */
  readonly agent: unknown
  readonly attempt: number
}

/** Gives every trial of a job its name: the same plan always gives the same names, and no name twice. */
export function makeTrialNamer(): (key: TrialKey) => string {
  const taken = new Set<string>()
  return (key) => {
    for (let nth = 0; ; nth++) {
      const name = `${shortTaskName(key.taskName)}__${shortId(key, nth)}`
      if (taken.has(name)) continue
      taken.add(name)
      return name
    }
  }
}

/** As Harbor shortens it, and always the name of one directory that cannot be taken for a hidden or half-made one. */
function shortTaskName(taskName: string): string {
  const bare = taskName.slice(taskName.lastIndexOf('/') + 1)
  const short = [...bare]
    .slice(0, 32)
    .join('')
    .replace(/[_-]+$/, '')
  return short.replace(/^\.+/, '').replaceAll('\\', '-')
}

function shortId({ jobName, taskName, digest, agent, attempt }: TrialKey, nth: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([jobName, taskName, digest, agent, attempt, nth]))
    .digest()
  let rest = hash.readBigUInt64BE()
  let id = ''
  for (let i = 0; i < 7; i++) {
    id += alphabet[Number(rest % 57n)]
    rest /= 57n
  }
  return id
}
