import { UserError } from '../../core/errors.ts'
import { jsonOrText } from '../../lib/parse-json.ts'

/** Lays `a.b.c=value` over a document; a value is JSON where it reads as such, otherwise text. */
export function setDeep(document: Record<string, unknown>, setting: string): void {
  const at = setting.indexOf('=')
  if (at <= 0)
    throw new UserError(
      `--set: expected path=value, got ${JSON.stringify(setting)}`,
      'for example vllm_server.max_model_len=8192',
    )
  const path = setting.slice(0, at).split('.')
  const last = path.pop() ?? ''
  let here = document
  for (const key of path) {
    const inner = here[key]
    const next =
      typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? (inner as Record<string, unknown>) : {}
    here[key] = next
    here = next
  }
  here[last] = jsonOrText(setting.slice(at + 1))
}
