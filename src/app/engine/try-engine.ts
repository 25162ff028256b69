import { messageOf } from '../../core/errors.ts'
import { makeEngine } from '../../plugins/make.ts'

/** Whether a model in this process can run on this machine: null, or why it cannot. */
export async function whyNot(engine: string, model: string): Promise<string | null> {
  try {
    const health = await (await makeEngine(engine, { model })).health(new AbortController().signal)
    return health.healthy ? null : health.reason
  } catch (error) {
    return messageOf(error)
  }
}
