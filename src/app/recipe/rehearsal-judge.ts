import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Judge } from '../../core/judge.ts'
import { exists } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { walkTree } from '../../lib/tree.ts'
import { rubricSchema } from '../../stages/shared/judging/rubric.ts'

/**
 * Replaces a judge in a rehearsal, in which the tasks' own solutions are played. It calls no model: work containing the
 * rubric's reference gets 1, anything else 0. A rubric without a reference accepts any text.
 */
export const rehearsalJudge: Judge = async ({ rubric, submissionDir }) => {
  const { reference = '' } = rubricSchema.parse(readJson(rubric))
  const wanted = words(reference)
  const texts = await submitted(submissionDir)
  const reward = texts.some((text) => text !== '' && text.includes(wanted)) ? 1 : 0
  return { reward, report: { score: reward, criteria: [], model: 'rehearsal', promptDigest: null, costUsd: 0 } }
}

async function submitted(dir: string): Promise<string[]> {
  const texts: string[] = []
  if (!(await exists(dir))) return texts
  for await (const { path, kind, size } of walkTree(dir))
    if (kind === 'file' && size < 1_000_000) texts.push(words(await readFile(join(dir, path), 'utf8')))
  return texts
}

function words(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
