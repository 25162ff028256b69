import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** The one of several faults that tells a person most: a misspelt name is also one that is missing; the name that came says more. */
export function tellingIssue(issues: readonly Issue[]): Issue | undefined {
  const all = issues.flatMap(ofClosestForm)
  return all.find(({ code }) => code === 'unrecognized_keys') ?? all[0]
}

/** Of a value that has none of several forms, what is wrong with the one it came closest to. */
function ofClosestForm(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const close = issue.errors.find((errors) =>
    errors.every(({ code, path }) => path.length > 0 || code !== 'invalid_type'),
  )
  if (close) return close.map((error) => ({ ...error, path: [...issue.path, ...error.path] })).flatMap(ofClosestForm)
  const forms = new Set(issue.errors.flat().flatMap((error) => (error.code === 'invalid_type' ? [error.expected] : [])))
  return [{ ...issue, message: `${issue.message}: expected ${[...forms].join(' or ')}` }]
}
