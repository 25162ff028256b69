import { BoundaryError } from '../../core/errors.ts'
import type { User } from '../../core/task.ts'

/** How a command switches to a user of the sandbox. */
export interface ResolvedUser {
  readonly home: string
  /** Words before the command; they run inside, where root has no more power than any root program there. */
  readonly prefix: readonly string[]
}

const root: ResolvedUser = { home: '/root', prefix: [] }

/** The users of one sandbox, each looked up once. */
export class Users {
  private readonly known = new Map<User, ResolvedUser>()

  constructor(
    private readonly manyUsers: boolean,
    /** Prints the /etc/passwd line for a name in the sandbox. */
    private readonly getent: (name: string) => Promise<string>,
  ) {}

  /** Forgets everything, because the sandbox's files may have changed. */
  clear(): void {
    this.known.clear()
  }

  async resolve(user: User | undefined): Promise<ResolvedUser> {
    if (user === undefined || user === 'root' || user === 0 || user === '0') return root
    const known = this.known.get(user)
    if (known) return known
    if (!this.manyUsers) {
      throw new BoundaryError(
        'sandbox',
        `cannot run as user ${user}: only one user id is available here (install uidmap and a range in /etc/subuid, or run as root)`,
        { retryable: false },
      )
    }
    const [name = '', groupName] = String(user).split(':')
    const line = (await this.getent(name)).split(':')
    const isNumber = /^\d+$/.test(name)
    if (line.length < 6 && !isNumber)
      throw new BoundaryError('task', `the sandbox has no user ${JSON.stringify(name)}`, { retryable: false })
    const uid = line[2] ?? name
    const gid = groupName ?? line[3] ?? name
    const groups = line.length < 6 ? '--clear-groups' : '--init-groups'
    const resolved = { home: line[5] || '/', prefix: ['setpriv', '--reuid', uid, '--regid', gid, groups, '--'] }
    this.known.set(user, resolved)
    return resolved
  }
}
