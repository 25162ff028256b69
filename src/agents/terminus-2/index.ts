import type { Agent } from '../../core/agent.ts'
import { definePlugin } from '../../core/plugin.ts'
import { redactKwargs } from '../../core/redact.ts'
import { readCallSettings } from './calls.ts'
import { loadTemplate } from './instruction.ts'
import { makeSettings, optionsSchema } from './options.ts'
import { solve } from './solve.ts'

const identity = { name: 'terminus-2', version: '2.0.0' } as const

/** Harbor's own agent, rebuilt: one terminal, one conversation, keystrokes as JSON or XML. */
export default definePlugin({
  name: identity.name,
  summary: 'works at a terminal, one reply of the model at a time',
  options: optionsSchema,
  make: (options, { env }): Agent => {
    const settings = makeSettings(options)
    readCallSettings(settings)
    const template = options.prompt_template_path ? loadTemplate(options.prompt_template_path) : null
    const shownCallSettings = redactKwargs(settings.callSettings, env)
    return {
      ...identity,
      needsModel: true,
      solve: (at) => solve(at, { identity, settings, template, shownCallSettings }),
    }
  },
})
