import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Makes a key that is valid for one trial only. */
export function makeTrialKey(): string {
  return `sk-trial-${randomBytes(24).toString('hex')}`
}

/** Whether a request carries the trial's key in any of the places used by the four APIs. */
export function carriesKey(key: string, headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
  const bearer = /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const given = [bearer, headers['x-api-key'], headers['x-goog-api-key'], query.get('key')]
  return given.some((text) => typeof text === 'string' && isSame(text, key))
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
