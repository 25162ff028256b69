import type { RecipeOutcome } from '../../app/recipe/perform-recipe.ts'
import { nearPath } from '../../lib/files.ts'
import { programName } from '../../lib/program-name.ts'
import { shellQuote } from '../../lib/shell.ts'

/**
 * Two lines for a run that had no row to write: the stage after which none was left, and the command that shows why.
 * Null for any other run.
 */
export function whyEmpty(dir: string, { stages, sinks }: Pick<RecipeOutcome, 'stages' | 'sinks'>): string | null {
  if (sinks.length === 0 || sinks.some(({ rows }) => rows > 0)) return null
  const last =
    stages.findLast(({ taken, given }) => taken > 0 && given === 0) ?? stages.find(({ given }) => given === 0)
  if (last === undefined) return 'failed: the dataset is empty'
  const dropped = last.taken > 0
  const where = dropped ? `${last.id} dropped every row` : `${last.id} produced no rows`
  const words = ['recipe', 'explain', nearPath(dir), ...(dropped ? ['--dropped', last.id] : [])]
  return `failed: the dataset is empty: ${where}\nhint: ${programName()} ${words.map(shellQuote).join(' ')} shows why`
}
