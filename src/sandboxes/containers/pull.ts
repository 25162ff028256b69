import { BoundaryError } from '../../core/errors.ts'
import type { PrepareOptions } from '../../core/sandbox.ts'
import { readProgress } from './build.ts'
import type { ContainerEngine } from './container-engine.ts'

/** Pulls an image that the engine does not have. */
export async function pullImage(engine: ContainerEngine, name: string, { signal, log }: PrepareOptions): Promise<void> {
  log?.(`pulling ${name}`)
  const failed = (why: string) =>
    new BoundaryError(
      'sandbox',
      `cannot pull ${name}: ${why.slice(0, 300)}; load it with \`${engine.name} load\`, or name a local image with the option base`,
      { code: 'ImagePullError', retryable: !/not found|unauthorized|denied|manifest unknown/i.test(why) },
    )
  // Without a tag the engine would pull all of them.
  const fromImage = /[:@][^/]+$/.test(name) ? name : `${name}:latest`
  const stream = await engine
    .stream({ method: 'POST', path: '/images/create', query: { fromImage }, ...(signal && { signal }) })
    .catch((error: unknown) => {
      if (error instanceof BoundaryError && error.code !== 'EngineUnreachableError') throw failed(error.message)
      throw error
    })
  const { error } = await readProgress(stream, () => {})
  signal?.throwIfAborted()
  if (error !== null) throw failed(error)
}
