import { randomBytes } from 'node:crypto'
import { beyondLimits, parseJson, requestLimits } from '../../lib/parse-json.ts'
import type { ModelService } from './model-service.ts'
import type { CallRoute } from './routes.ts'
import type { ParsedCall, ServedCall, Stamp } from './server-dialect.ts'
import { renderAnswer, type WireAnswer } from './wire-answer.ts'

/** Reads a call that came over the wire. */
export function readCall({ dialect, address }: CallRoute, body: string): ParsedCall {
  const document = parseJson(body, requestLimits)
  if (document !== undefined) return dialect.parse(document, address)
  const message = `expected JSON, got ${beyondLimits(body, requestLimits) ?? 'something else'}`
  return { kind: 'refused', fault: { kind: 'invalid-request', message } }
}

/** Has a call answered, and writes the answer in the call's own API. Nothing is sent for one who falls silent. */
export async function answerCall(
  service: Pick<ModelService, 'answer'>,
  { dialect }: CallRoute,
  call: ServedCall,
  signal: AbortSignal,
): Promise<WireAnswer | 'hang-up' | 'silence'> {
  const answer = await service.answer(call, signal)
  return renderAnswer(dialect, call, answer, makeStamp(call))
}

/** What a reply to a call carries beside what was said. */
export function makeStamp({ model }: ServedCall): Stamp {
  return { id: randomBytes(12).toString('hex'), createdSec: Math.floor(Date.now() / 1000), model }
}
