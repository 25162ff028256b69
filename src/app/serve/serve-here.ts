import { UserError } from '../../core/errors.ts'
import type { EngineFile } from '../../formats/engine-yaml.ts'
import type { Notify } from '../job/tasks-request.ts'
import { startHere } from './replicas.ts'
import { stop } from './server-process.ts'

/** A model served on this machine until it is disposed of. */
export interface ModelServer extends AsyncDisposable {
  /** Several addresses are separated by commas. */
  readonly apiBase: string
}

/** Starts an engine file's servers on loopback, and waits until they answer. `path` is for messages. */
export async function serveHere(
  file: EngineFile,
  path: string,
  { notify, signal }: { readonly notify: Notify; readonly signal: AbortSignal },
): Promise<ModelServer> {
  if (!file.vllm_server)
    throw new UserError(
      `${path}: expected the section vllm_server, which says how to start a server, found none`,
      'add that section',
    )
  const options = { host: '127.0.0.1', port: 0, key: true }
  const groups = await startHere({ file, settings: file.vllm_server, options, apiKey: null, notify })
  const dispose = async () => void (await Promise.all(groups.map(({ server }) => stop(server))))
  try {
    const urls = (await Promise.all(groups.map((group) => group.answers(signal)))).flat()
    return { apiBase: urls.map((url) => `${url}/v1`).join(','), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}
