import { UserError } from '../../core/errors.ts'
import { whyUnsafe } from '../../lib/tree-writer.ts'

/**
 * Normalizes an untrusted task path to a plain relative one, without leading `./` or trailing `/`; `what` names it in
 * messages.
 */
export function parseTaskPath(text: string, what: string): string {
  const reason = whyUnsafe(text)
  if (reason !== null) throw bad(text, what, reason)
  const path = text
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')
  if (path === '') throw bad(text, what, 'it names no directory')
  return path
}

function bad(text: string, what: string, reason: string): UserError {
  return new UserError(
    `${what}: path ${JSON.stringify(text.slice(0, 200))} is refused: ${reason}`,
    'expected a relative path of plain names, such as "set-a/task-1"',
  )
}
