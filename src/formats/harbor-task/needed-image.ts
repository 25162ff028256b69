import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { UserError } from '../../core/errors.ts'
import type { Environment } from '../../core/task.ts'
import { isMissing } from '../../lib/files.ts'
import { BuildContext, type ContextEntry, ContextError, readInside } from '../dockerfile/context.ts'

/** What an environment's sandbox starts from. Environments with the same `key` can share it, even across tasks. */
export type NeededImage =
  /** The provider's own base image. */
  | { readonly kind: 'none'; readonly key: string }
  | { readonly kind: 'prebuilt'; readonly key: string; readonly name: string }
  /** `digest`: of everything the build can see, in hex. */
  | { readonly kind: 'dockerfile' | 'compose'; readonly key: string; readonly digest: string }

/**
 * Determines an environment's image from the content of its files, regardless of their location. CPUs, memory, network
 * and variables belong to a sandbox rather than its image, so they are ignored.
 */
export async function findNeededImage({ dir, dockerImage, os }: Environment): Promise<NeededImage> {
  const compose = await readText(dir, 'docker-compose.yaml')
  if (compose === null && dockerImage !== undefined)
    return { kind: 'prebuilt', key: `image:${os}:${dockerImage}`, name: dockerImage }
  const dockerfile = await readText(dir, 'Dockerfile')
  if (compose === null && dockerfile === null) return { kind: 'none', key: `none:${os}` }
  const kind = compose === null ? 'dockerfile' : 'compose'
  const image = compose === null ? '' : (dockerImage ?? '')
  const digest = await digestContext(dir, [kind, os, image, compose ?? '', dockerfile ?? ''])
  return { kind, key: `${kind}:${digest}`, digest }
}

/**
 * A digest of the texts that control a build, and of every file it may copy with path, mode and content. Timestamps are
 * ignored.
 */
export async function digestContext(dir: string, texts: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  const add = (word: string | number) => hash.update(`${Buffer.byteLength(String(word))}:${word}`)
  texts.forEach(add)
  const context = await atTask(dir, () => BuildContext.open(dir))
  const [all] = await atTask(dir, () => context.select('.'))
  for (const entry of all?.entries ?? []) {
    for (const word of [entry.kind, entry.path, entry.mode, entry.target]) add(word)
    if (entry.kind === 'file') add(await digestFile(entry))
  }
  return hash.digest('hex')
}

async function digestFile({ source }: ContextEntry): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(source)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** A task with a prebuilt image may have no environment folder. */
function readText(dir: string, name: string): Promise<string | null> {
  return atTask(dir, () =>
    readInside(dir, name).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    }),
  )
}

async function atTask<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ContextError)
      throw new UserError(`${dir}: ${error.message}`, 'a build sees only files in the folder of the environment')
    throw error
  }
}
