import type { Draw, Probe, Tree, Work } from '../work.ts'

/** What an operation on files has to provide; everything else is the same for all of them. */
export interface SimpleWork {
  readonly domain: string
  readonly operation: string
  readonly shape: string
  readonly faults?: readonly string[]
  readonly constraints?: readonly string[]
  readonly ask: readonly string[]
  readonly before: Tree
  readonly setup?: Work['setup']
  readonly after: Tree
  readonly probes?: readonly Probe[]
  readonly hidden?: Work['hidden']
  readonly solve: string
  /** Unpredictable files may appear, so extra files are never forbidden. */
  readonly isOpen?: boolean
}

/** Completes a work; about half of them forbid leaving anything else behind. */
export function simpleWork({ random, words }: Draw, work: SimpleWork): Work {
  const closed = random.chance(0.5) && !work.isOpen
  const more = closed
    ? [
        words.say(
          random.pick([
            'Leave nothing else behind.',
            'Apart from that, no file or folder may be added or changed.',
            'Temporary files and scripts of yours must be gone in the end.',
          ]),
          [
            'Nothing else of yours may be left over when you are done.',
            'Clean up after yourself: in the end there must be no new files or folders that are not asked for here.',
            'Besides what is asked for here, nothing may be added or changed.',
            'Do not leave any files, folders or scripts of your own around that are not asked for here.',
            'When you finish, there must be no additional files or folders apart from those that are asked for.',
            'If you need temporary files, remove them afterwards, so that you add nothing beyond what is asked for.',
          ],
        ),
      ]
    : []
  const {
    domain,
    operation,
    shape,
    faults = [],
    constraints = [],
    ask,
    before,
    after,
    probes = [],
    hidden,
    setup,
    solve,
  } = work
  return {
    ask: [...ask, ...more],
    before,
    after,
    closed,
    probes,
    ...(hidden && { hidden }),
    ...(setup && { setup }),
    solve,
    axes: { domain, operation, shape, faults, constraints: closed ? [...constraints, 'nothing-else'] : constraints },
  }
}
