import type { ModelRequest } from '../core/model.ts'
import type { Quirks } from './model-dialect.ts'
import type { Fault } from './model-fault.ts'

/** Extras that a server may not know and that are not essential. */
const extras = ['session_id', 'return_token_ids', 'stream_options']

/** Parts that may also be dropped if a server refuses them by name; the reply reports that. */
const droppable = [...extras, 'logprobs', 'temperature', 'top_p']

/**
 * Learns from a refused request what the server does not support; null if it was refused for another reason. `sent` is
 * the refused body.
 */
export function learnQuirk(fault: Fault, sent: Readonly<Record<string, unknown>>, quirks: Quirks): Quirks | null {
  if ((fault.status !== 400 && fault.status !== 422) || !refusal.test(fault.message)) return null
  const names = (name: string) => fault.param === name || new RegExp(`\\b${name}\\b`).test(fault.message)
  const isSent = (name: string) => sent[name] !== undefined
  const { maxTokensField } = quirks
  if (isSent(maxTokensField) && names(maxTokensField)) {
    return { ...quirks, maxTokensField: maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens' }
  }
  const named = droppable.filter((name) => isSent(name) && names(name))
  const refused = named.length > 0 ? named : unknownArgument.test(fault.message) ? extras.filter(isSent) : []
  return refused.length === 0 ? null : { ...quirks, dropped: [...quirks.dropped, ...refused] }
}

const unknownArgument =
  /unrecogni[sz]ed|unknown (parameter|field|argument|name)|extra (inputs|fields)|additional properties|unexpected (keyword|field|parameter|argument)/i

const refusal = new RegExp(
  `${unknownArgument.source}|unsupported|not supported|not support|not permitted|not allowed|deprecated|cannot both`,
  'i',
)

/** Which requested settings are dropped for this server. */
export function droppedFrom(request: ModelRequest, { dropped }: Quirks): readonly string[] {
  const asked: Readonly<Record<string, unknown>> = {
    temperature: request.temperature,
    top_p: request.topP,
    logprobs: request.tokenDetails,
    return_token_ids: request.tokenDetails,
    session_id: request.sessionId,
    ...request.extraBody,
  }
  return dropped.filter((name) => asked[name] !== undefined)
}
