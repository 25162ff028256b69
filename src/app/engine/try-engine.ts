import { messageOf } from '../../core/errors.ts'
import { makeEngine } from '../../plugins/make.ts'

/** Why an in-process model cannot run on this machine, or null if it can. */
export async function whyNot(engine: string, model: string): Promise<string | null> {
  try {
    const health = await (await makeEngine(engine, { model })).health(new AbortController().signal)
    return health.healthy ? null : health.reason
  } catch (error) {
    return messageOf(error)
  }
}
