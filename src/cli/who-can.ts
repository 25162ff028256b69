import { registry } from '../registry.ts'
import { meets, type Need, type WhoCan } from '../run/trial/environment.ts'
import { makeProvider } from './plugins.ts'

/** Which kinds of sandbox meet which need, for messages that name an alternative. */
export async function whoCan(): Promise<WhoCan> {
  const providers = await Promise.all(Object.keys(registry.sandboxes).map((name) => makeProvider(name, {})))
  const meeting = (need: Need) => providers.filter(({ can }) => meets(can, need)).map(({ name }) => name)
  return {
    compose: meeting('compose'),
    images: meeting('images'),
    gpu: meeting('gpu'),
    tpu: meeting('tpu'),
    windows: meeting('windows'),
    allowlist: meeting('allowlist'),
    networkPerPhase: meeting('networkPerPhase'),
    mounts: meeting('mounts'),
  }
}
