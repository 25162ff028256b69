import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { flagOf } from '../../src/app/generate/own-options.ts'

/** `data/NAME/offline-args.json` as command-line words: what a pipeline needs to run without a network or a model. */
export function offlineWords(name: string): string[] {
  const path = join('data', name, 'offline-args.json')
  if (!existsSync(path)) return []
  const args: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
  return Object.entries(args).flatMap(([key, value]) => [value].flat().map((each) => `${flagOf(key)}=${each}`))
}
