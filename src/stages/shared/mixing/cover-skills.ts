export interface Skilled {
  /** Which skills it has, by index in the list. */
  readonly skills: readonly number[]
}

/**
 * Chooses tasks so that each skill occurs often enough. The task with the most skills still wanted comes first; among
 * equals, the earlier one. The rest of the sample is filled with tasks whose skills are not above their limit, and then
 * with any.
 */
export function coverSkills<T extends Skilled>(
  tasks: readonly T[],
  wanted: readonly { readonly least: number }[],
  { keep, overshoot }: { readonly keep: number; readonly overshoot: number },
): { readonly chosen: readonly T[]; readonly counts: readonly number[] } {
  const counts = wanted.map(() => 0)
  const left = new Set(tasks)
  const chosen: T[] = []
  const leastOf = (skill: number) => wanted[skill]?.least ?? 0
  const missing = ({ skills }: T) => skills.filter((skill) => (counts[skill] ?? 0) < leastOf(skill)).length
  const isOver = ({ skills }: T) => skills.some((skill) => (counts[skill] ?? 0) >= leastOf(skill) * overshoot)
  const take = (task: T) => {
    left.delete(task)
    chosen.push(task)
    for (const skill of task.skills) counts[skill] = (counts[skill] ?? 0) + 1
  }
  while (chosen.length < keep) {
    let best: T | null = null
    let most = 0
    for (const task of left) {
      const gain = missing(task)
      if (gain > most && !isOver(task)) [best, most] = [task, gain]
    }
    if (best === null) break
    take(best)
  }
  for (const mayExceed of [false, true])
    for (const task of left) if (chosen.length < keep && (mayExceed || !isOver(task))) take(task)
  return { chosen, counts }
}
