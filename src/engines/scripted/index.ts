import type { Engine } from '../../core/model.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { ModelService } from '../../formats/dialect-server/model-service.ts'
import { lazily } from '../../lib/shared-work.ts'
import { makeInProcessEngine } from '../shared/in-process.ts'
import { scriptedOptions } from './options.ts'
import { loadRepertoire } from './repertoire.ts'
import { makeService } from './service.ts'

/**
 * A stand-in for a model, never one itself: it plays turns from a file, or a task's own solution, and what goes wrong is
 * asked for. Equal seeds and conversations give equal answers.
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
      // What a script matches may stand in an agent's prompt instead of the instruction.
      knows: async (instruction) =>
        script !== undefined ||
        (await (await repertoire()).turnsFor([{ role: 'user', content: instruction }])) !== null,
    }
  },
})
