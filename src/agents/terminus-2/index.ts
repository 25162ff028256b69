import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Agent } from '../../core/agent.ts'
import { definePlugin } from '../../core/plugin.ts'
import { redactKwargs } from '../../core/redact.ts'
import { readCallSettings } from './calls.ts'
import { loadTemplate } from './instruction.ts'
import { refuseTooLong } from './limits.ts'
import { makeSettings, optionsSchema } from './options.ts'
import { firstPrompt } from './prompt.ts'
import { Prompts } from './prompts.ts'
import { solve } from './solve.ts'

const identity = { name: 'terminus-2', version: '2.0.0' } as const

/** Harbor's own agent, reimplemented: one terminal, one conversation, keystrokes as JSON or XML. */
export default definePlugin({
  name: identity.name,
  summary: 'works in a terminal, one model reply at a time',
  options: optionsSchema,
  make: (options, { env }): Agent => {
    const settings = makeSettings(options)
    readCallSettings(settings)
    const path = options.prompt_template_path || null
    const isFolder = path !== null && isDirectory(path)
    const template = path !== null && !isFolder ? loadTemplate(path) : null
    const harbor = options.prompts === 'harbor' ? { python: options.harbor_python ?? null } : null
    const prompts = Prompts.load({ folder: isFolder ? path : null, harbor })
    const shownCallSettings = redactKwargs(settings.callSettings, env)
    return {
      ...identity,
      needsModel: true,
      digests: {
        'the prompts of terminus-2': createHash('sha256')
          .update(`${prompts.digest}${template?.('\0') ?? ''}`)
          .digest('hex'),
      },
      checkModel: (client, { instruction, steps }) => {
        const texts = steps.length > 0 ? steps.map((step) => step.instruction) : [instruction]
        for (const text of texts)
          refuseTooLong(firstPrompt(prompts, settings.parser, template ? template(text) : text, ''), settings, client)
      },
      solve: (at) => solve(at, { identity, settings, template, prompts, shownCallSettings }),
    }
  },
})

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
