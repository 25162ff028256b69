import { posix } from 'node:path'
import { z } from 'zod'
import { parseTemplate } from '../../core/env-template.ts'

/** One service of a compose file, unchecked. */
export type Service = Readonly<Record<string, unknown>>

/** Context and Dockerfile of a build that says nothing else, both inside the task; otherwise null. */
export function simpleBuild(build: unknown): { context: string; dockerfile: string } | null {
  const given = typeof build === 'string' ? { context: build } : build
  const parsed = buildSchema.safeParse(given)
  if (!parsed.success) return null
  const context = posix.normalize(parsed.data.context).replace(/\/$/, '')
  const dockerfile = posix.normalize(parsed.data.dockerfile)
  const stays = [context, posix.join(context, dockerfile)].every(
    (path) => isLiteral(path) && !/^(\/|\.\.(\/|$))/.test(path),
  )
  return stays ? { context, dockerfile } : null
}

const buildSchema = z.strictObject({
  context: z.string().default('.'),
  dockerfile: z.string().default('Dockerfile'),
})

/** Variables that are literals or whole templates; null when one is anything else. TEST_DIR is the tests' own. */
export function simpleEnv(environment: unknown): Record<string, string> | null {
  const entries = environmentEntries(environment)
  if (entries === null) return null
  const own = entries.filter(([key, value]) => !(key === 'TEST_DIR' && value.includes('T_BENCH_')))
  const isSimple = own.every(([, value]) => !value.includes('$') || isHostTemplate(value))
  return isSimple ? Object.fromEntries(own) : null
}

function environmentEntries(environment: unknown): [string, string][] | null {
  if (environment === undefined || environment === null) return []
  const list = z.array(z.string().includes('=')).safeParse(environment)
  if (list.success)
    return list.data.map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)])
  const map = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).safeParse(environment)
  return map.success ? Object.entries(map.data).map(([key, value]) => [key, String(value)]) : null
}

function isHostTemplate(value: string): boolean {
  return parseTemplate(value) !== null && !value.includes('T_BENCH_')
}

/** The benchmark's own log mounts, which Harbor brings itself. */
export function isBenchVolume(volume: unknown): boolean {
  return typeof volume === 'string' && /^\$\{T_BENCH_\w+\}:\$\{T_BENCH_\w+\}$/.test(volume)
}

/** A command that only keeps the container alive, which Harbor brings itself. */
export function isKeepAlive(command: unknown): boolean {
  return /sleep infinity|tail -f \/dev\/null/.test(Array.isArray(command) ? command.join(' ') : String(command))
}

/** A string in which compose has nothing to fill in. */
export function isLiteral(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('$')
}
