import { randomBytes } from 'node:crypto'
import { beyondLimits, parseJson, requestLimits } from '../../lib/parse-json.ts'
import type { ModelService } from './model-service.ts'
import type { CallRoute } from './routes.ts'
import type { ParsedCall, ServedCall, Stamp } from './server-dialect.ts'
import { renderAnswer, type WireAnswer } from './wire-answer.ts'

/** Parses a call from the wire. */
export function readCall({ dialect, address }: CallRoute, body: string): ParsedCall {
  const document = parseJson(body, requestLimits)
  if (document !== undefined) return dialect.parse(document, address)
  const message = `expected JSON, got ${beyondLimits(body, requestLimits) ?? 'something else'}`
  return { kind: 'refused', fault: { kind: 'invalid-request', message } }
}

/** Has the service answer a call, and renders the answer in the call's own API. */
export async function answerCall(
  service: Pick<ModelService, 'answer'>,
  { dialect }: CallRoute,
  call: ServedCall,
  signal: AbortSignal,
): Promise<WireAnswer | 'hang-up' | 'silence'> {
  const answer = await service.answer(call, signal)
  return renderAnswer(dialect, call, answer, makeStamp(call))
}

/** The metadata of a reply. */
export function makeStamp({ model }: ServedCall): Stamp {
  return { id: randomBytes(12).toString('hex'), createdSec: Math.floor(Date.now() / 1000), model }
}
