import { posix } from 'node:path'
import { z } from 'zod'
import { parseTemplate } from '../../core/env-template.ts'

/** One service of a compose file, unchecked. */
export type Service = Readonly<Record<string, unknown>>

/** The context and Dockerfile of a build without other settings, both inside the task; otherwise null. */
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

/** Variables that are literals or whole templates; null if any is something else. TEST_DIR belongs to the tests. */
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

/** Limits that task.toml can express: whole CPUs and megabytes. Null if the service limits anything else. */
export function simpleLimits({ deploy, cpus, mem_limit }: Service): { cpus?: number; memoryMb?: number } | null {
  const parsed = limitsSchema.safeParse({ deploy, cpus, mem_limit })
  if (!parsed.success) return null
  const { cpus: deployedCpus, memory } = parsed.data.deploy?.resources?.limits ?? {}
  const [givenCpus, givenMemory] = [deployedCpus ?? parsed.data.cpus, memory ?? parsed.data.mem_limit]
  const memoryMb = givenMemory === undefined ? undefined : wholeMegabytes(givenMemory)
  if (memoryMb === null) return null
  return { ...(givenCpus !== undefined && { cpus: givenCpus }), ...(memoryMb !== undefined && { memoryMb }) }
}

// Harbor's task.toml only accepts whole CPUs.
const processors = z.coerce.number().int().positive().optional()
const size = z.union([z.string(), z.number()]).optional()
const limitsSchema = z.object({
  deploy: z
    .strictObject({
      resources: z.strictObject({ limits: z.strictObject({ cpus: processors, memory: size }).optional() }).optional(),
    })
    .optional(),
  cpus: processors,
  mem_limit: size,
})

/** Parses a size in compose format, for example 512m or 2gb; null if it is not a whole number of megabytes. */
function wholeMegabytes(text: string | number): number | null {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(String(text).trim()) ?? []
  const megabytes = (Number(number) * 1024 ** ['', 'k', 'm', 'g', 't'].indexOf(unit.toLowerCase())) / 1024 ** 2
  return Number.isInteger(megabytes) && megabytes > 0 ? megabytes : null
}

function isHostTemplate(value: string): boolean {
  return parseTemplate(value) !== null && !value.includes('T_BENCH_')
}

/** The benchmark's own log mounts, which Harbor provides itself. */
export function isBenchVolume(volume: unknown): boolean {
  return typeof volume === 'string' && /^\$\{T_BENCH_\w+\}:\$\{T_BENCH_\w+\}$/.test(volume)
}

/** A command that only keeps the container alive, which Harbor does itself. */
export function isKeepAlive(command: unknown): boolean {
  return /sleep infinity|tail -f \/dev\/null/.test(Array.isArray(command) ? command.join(' ') : String(command))
}

/** A string without compose variables. */
export function isLiteral(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('$')
}
