import { realpath } from 'node:fs/promises'
import { isAbsolute, posix, resolve, sep } from 'node:path'
import { z } from 'zod'

/** Something mounted in a service. */
export type ComposeMount =
  | { readonly kind: 'volume'; readonly name: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'anonymous'; readonly target: string }
  | { readonly kind: 'tmpfs'; readonly target: string }
  /** A file or directory of the environment; `source` is its real path, inside the environment. */
  | { readonly kind: 'files'; readonly source: string; readonly target: string; readonly readOnly: boolean }

const longSchema = z.looseObject({
  type: z.enum(['volume', 'bind', 'tmpfs']),
  source: z.string().optional(),
  target: z.string(),
  read_only: z.boolean().default(false),
})

export interface MountPlace {
  readonly dir: string
  readonly volumes: readonly string[]
  readonly fail: (what: string) => Error
}

/** Parses one entry of a service's volumes. Host files outside the environment are refused. */
export async function readMount(value: unknown, place: MountPlace): Promise<ComposeMount> {
  const { fail } = place
  if (typeof value === 'string') {
    const [first = '', second, mode = '', ...rest] = value.split(':')
    if (rest.length > 0) throw fail(`volumes: ${JSON.stringify(value)} is not understood`)
    if (second === undefined) return { kind: 'anonymous', target: inside(first, fail) }
    return readSource(first, second, mode.split(',').includes('ro'), place)
  }
  const long = longSchema.safeParse(value)
  if (!long.success)
    throw fail(`volumes: expected type, source and target, found ${JSON.stringify(value).slice(0, 100)}`)
  const { type, source, target, read_only: readOnly } = long.data
  if (type === 'tmpfs') return { kind: 'tmpfs', target: inside(target, fail) }
  if (source === undefined) return { kind: 'anonymous', target: inside(target, fail) }
  return readSource(source, target, readOnly, place)
}

async function readSource(source: string, path: string, readOnly: boolean, place: MountPlace): Promise<ComposeMount> {
  const { dir, volumes, fail } = place
  const target = inside(path, fail)
  if (!/^[./~]/.test(source)) {
    if (!volumes.includes(source)) throw fail(`volumes: there is no volume called ${JSON.stringify(source)}`)
    return { kind: 'volume', name: source, target, readOnly }
  }
  const real = await realpath(resolve(dir, source)).catch(() => null)
  const root = await realpath(dir)
  if (real === null || (real !== root && !real.startsWith(`${root}${sep}`)))
    throw fail(`volumes: ${JSON.stringify(source)} is not in the task’s environment`)
  return { kind: 'files', source: real, target, readOnly }
}

function inside(target: string, fail: (what: string) => Error): string {
  const path = posix.normalize(target)
  if (!isAbsolute(path) || path === '/')
    throw fail(`volumes: expected a path inside the container, found ${JSON.stringify(target)}`)
  return path
}
