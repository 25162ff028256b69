import type { Engine } from '../../core/model.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { ModelService } from '../../formats/dialect-server/model-service.ts'
import { lazily } from '../../lib/shared-work.ts'
import { makeInProcessEngine } from '../shared/in-process.ts'
import { scriptedOptions } from './options.ts'
import { loadRepertoire } from './repertoire.ts'
import { makeService } from './service.ts'

/**
 * A stand-in for a model that plays turns from a file or a task's own solution, with faults on request. Equal seeds and
 * conversations give equal answers.
 */
export default definePlugin({
  name: 'scripted',
  summary: 'a stand-in without a model, which plays back turns from a file or the task’s own solution',
  options: scriptedOptions,
  make: (options, context): Engine & { readonly service: ModelService } => {
    const model = (options.model ?? 'scripted').replace(/^scripted\/(?=.)/, '')
    const {
      tasks,
      script,
      turns,
      wordy,
      seed,
      context_tokens,
      latency_ms,
      tokens_per_sec,
      max_running,
      cache_tokens,
      reasoning,
      faults,
      ...ofClient
    } = options
    const repertoire = lazily(() => loadRepertoire(tasks, script ?? null, { turns, wordy }))
    const service = makeService(options, model, repertoire)
    return {
      ...makeInProcessEngine(
        { name: 'scripted', service, reasoningField: 'reasoning_content', options: ofClient },
        context,
      ),
      // An agent's prompt may contain a script's matching text instead of the instruction.
      knows: async (instruction) =>
        script !== undefined ||
        (await (await repertoire()).turnsFor([{ role: 'user', content: instruction }])) !== null,
    }
  },
})
