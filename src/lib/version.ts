import { readFileSync } from 'node:fs'
import { readJson } from './parse-json.ts'

/** The version of this package, as its package.json says. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (readJson(text) as { version: string }).version
}
