import { UserError } from '../../core/errors.ts'

/** `agents[0].kwargs.x` or `agents.0.kwargs.x` as the keys on the way. */
export function parsePath(option: string, path: string): string[] {
  const keys = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  if (keys.every((key) => key !== '' && key !== '__proto__')) return keys
  throw new UserError(
    `${option}: expected a path like agents[0].kwargs.name, got ${JSON.stringify(path)}`,
    'use the keys of a Harbor job file',
  )
}

/** Sets one value deep inside a document, making what is missing on the way. */
export function setAt(document: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let place: object = document
  for (const [i, key] of keys.slice(0, -1).entries()) {
    const inner: unknown = Reflect.get(place, key)
    if (typeof inner === 'object' && inner !== null) {
      place = inner
      continue
    }
    const made = /^\d+$/.test(keys[i + 1] ?? '') ? [] : {}
    Reflect.set(place, key, made)
    place = made
  }
  Reflect.set(place, keys.at(-1) ?? '', value)
}
