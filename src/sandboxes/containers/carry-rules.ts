import { isBytecode, type Rule, ruleFor, type SystemChange } from '../../core/system-files.ts'
import { above, type ChangeLog } from './changes.ts'

/** What an image has at a path. */
export type ImageKind = 'dir' | 'other' | 'nothing'

export interface CarryRulesOptions {
  readonly log: ChangeLog
  /** The directories of the image's PATH. */
  readonly searchPath: readonly string[]
  /** Whether system files stay as they are in the image. */
  readonly restore: boolean
  /** Mount points: nothing at or below them is carried over. */
  readonly mounts: readonly string[]
  /** System files that the fresh container already has and the agent did not change: those of a compose file. */
  readonly provided: readonly string[]
  /** Looks paths up in the image. */
  readonly lookAt: (paths: readonly string[]) => Promise<readonly ImageKind[]>
}

/**
 * Decides which of an agent's changes are carried over to a fresh container, one by one: directories come before their
 * contents. The rules for system files are those of every sandbox (core/system-files.ts).
 */
export class CarryRules {
  private readonly found: SystemChange[] = []
  /** Paths that are not carried over, with everything below. */
  private readonly left = new Set<string>()
  /** Directories of the system for which only the image can tell whether they were directories before. */
  private readonly unsure: string[] = []

  private constructor(
    private readonly options: CarryRulesOptions,
    private readonly rules: ReadonlyMap<string, Rule>,
    private readonly image: ReadonlyMap<string, ImageKind>,
  ) {}

  static async make(options: CarryRulesOptions): Promise<CarryRules> {
    const { log, restore, searchPath, lookAt } = options
    const rules = restore ? rulesOf(log, searchPath) : new Map<string, Rule>()
    const [imageDirs, dirs] = [imageDirsOf(log), parentsOf(log.touched)]
    const asked = new Set<string>()
    for (const [path, rule] of rules) {
      if (typeof rule === 'object' && 'shadows' in rule) for (const other of rule.shadows) asked.add(other)
      else if (!log.isAdded(path) && dirs.has(path) && !imageDirs.has(path)) asked.add(path)
    }
    const kinds = asked.size > 0 ? await lookAt([...asked]) : []
    const image = new Map<string, ImageKind>([
      ...[...imageDirs].map((path) => [path, 'dir'] as const),
      ...[...asked].map((path, index) => [path, kinds[index] ?? 'nothing'] as const),
    ])
    return new CarryRules(options, rules, image)
  }

  /** Whether a path that the agent removed may be removed from the image's files. */
  mayRemove(path: string): boolean {
    const { mounts, restore, searchPath } = this.options
    if (this.isMounted(path) || mounts.some((mount) => mount.startsWith(`${path}/`))) return false
    return !restore || ruleFor({ path, change: 'removed' }, searchPath) === 'ordinary'
  }

  isListed(path: string): boolean {
    return this.options.log.touched.has(path)
  }

  /** Whether the beginning of a file is needed to judge it. */
  wantsText(path: string): boolean {
    const rule = this.rules.get(path)
    return typeof rule === 'object' && 'says' in rule
  }

  /**
   * Whether something the agent left is carried over. `text`: the beginning of a file; null for anything that is not a
   * file.
   */
  decide(path: string, kind: 'dir' | 'other', text: string | null): boolean {
    const { log, mounts } = this.options
    if (this.isMounted(path) || this.isLeft(path)) return false
    if (kind !== 'dir' && mounts.some((mount) => mount.startsWith(`${path}/`))) return this.leaveOut(path)
    const rule = this.rules.get(path) ?? 'ordinary'
    if (kind === 'dir') return this.decideDir(path, rule)
    if (!this.isSystem(rule, text)) return true
    if (this.options.provided.includes(path)) return this.leaveOut(path)
    this.found.push({ path, change: log.isAdded(path) ? 'added' : 'modified' })
    return this.leaveOut(path)
  }

  /** Whether the fresh container has the file that a hard link in an archive refers to. */
  hasTarget(path: string): boolean {
    return !this.isMounted(path) && !this.isLeft(path)
  }

  leaveOut(path: string): false {
    this.left.add(path)
    return false
  }

  /** The system files that were left as they are in the image. */
  async finish(): Promise<SystemChange[]> {
    const { log, lookAt, restore, searchPath } = this.options
    const kinds = this.unsure.length > 0 ? await lookAt(this.unsure) : []
    const replaced = this.unsure.filter((_, index) => kinds[index] !== 'dir')
    const gone = [...log.removed].filter((path) => restore && !this.isMounted(path))
    const removed = gone.filter((path) => ruleFor({ path, change: 'removed' }, searchPath) === 'system')
    return [
      ...this.found,
      ...replaced.map((path) => ({ path, change: 'modified' as const })),
      ...removed.map((path) => ({ path, change: 'removed' as const })),
    ]
      .filter(({ path }) => !isBytecode(path))
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** A directory that was already one is no change; its contents may be. */
  private decideDir(path: string, rule: Rule): boolean {
    const { log } = this.options
    if (rule !== 'system' || log.isAdded(path)) return true
    const before = this.image.get(path)
    if (before === 'dir') return false
    if (before === undefined) {
      this.unsure.push(path)
      return false
    }
    this.found.push({ path, change: 'modified' })
    return this.leaveOut(path)
  }

  private isSystem(rule: Rule, text: string | null): boolean {
    if (typeof rule === 'string') return rule === 'system'
    if ('says' in rule) return text === null || rule.says.test(text)
    return rule.shadows.some((path) => (this.image.get(path) ?? 'nothing') !== 'nothing')
  }

  private isMounted(path: string): boolean {
    return this.options.mounts.some((mount) => path === mount || path.startsWith(`${mount}/`))
  }

  private isLeft(path: string): boolean {
    if (this.left.size === 0) return false
    return this.left.has(path) || [...above(path)].some((dir) => this.left.has(dir))
  }
}

/**
 * Whether, by their paths alone, some of the changes may concern system files. `wasDir` knows image directories that
 * the changes do not mention.
 */
export function mayTouchSystem(
  log: ChangeLog,
  searchPath: readonly string[],
  wasDir: (path: string) => boolean,
): boolean {
  for (const path of log.removed) if (ruleFor({ path, change: 'removed' }, searchPath) !== 'ordinary') return true
  const [imageDirs, dirs] = [imageDirsOf(log), parentsOf(log.touched)]
  for (const path of rulesOf(log, searchPath).keys()) {
    const isDirStill = dirs.has(path) && (log.isAdded(path) || imageDirs.has(path) || wasDir(path))
    if (!isDirStill) return true
  }
  return false
}

/** The rules for what was made or changed, without anything that is not part of the system. */
function rulesOf(log: ChangeLog, searchPath: readonly string[]): Map<string, Rule> {
  const rules = new Map<string, Rule>()
  for (const path of log.touched) {
    const rule = ruleFor({ path, change: log.isAdded(path) ? 'added' : 'modified' }, searchPath)
    if (rule !== 'ordinary') rules.set(path, rule)
  }
  return rules
}

/** Directories that the image must have, because it has something in them. */
function imageDirsOf(log: ChangeLog): Set<string> {
  return parentsOf([...log.touched, ...log.removed].filter((path) => !log.isAdded(path)))
}

function parentsOf(paths: Iterable<string>): Set<string> {
  const parents = new Set<string>()
  for (const path of paths)
    for (const dir of above(path)) {
      if (parents.has(dir)) break
      parents.add(dir)
    }
  return parents
}
