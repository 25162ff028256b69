import type { CommandAgentContext } from './shared/blackbox/command-agent.ts'
import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** The pi coding agent; needs Node 20.6 or later in the sandbox. */
export default defineBlackbox(
  {
    name: 'pi',
    tool: { npm: '@mariozechner/pi-coding-agent', version: '0.73.1' },
    // It does not support MCP: its makers prefer programs with a help page.
    skills: '.pi/agent/skills',
    files: (context) => ({ [`${context.home}/.pi/agent/models.json`]: JSON.stringify(models(context), null, 2) }),
    env: () => ({ PI_OFFLINE: '1', PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' }),
    argv: ({ toolDir, model, instruction }) => [
      `${toolDir}/node_modules/.bin/pi`,
      ...['-p', '--mode', 'json', '--provider', 'gateway', '--model', model],
      instruction,
    ],
  },
  'the pi coding agent, from npm',
)

function models({ baseUrl, key, model, contextTokens, outputTokens }: CommandAgentContext) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const limits = { contextWindow: contextTokens, maxTokens: outputTokens }
  const described = { id: model, name: model, reasoning: false, input: ['text'], ...limits, cost }
  const gateway = { baseUrl: `${baseUrl}/v1`, api: 'openai-completions', apiKey: key, models: [described] }
  return { providers: { gateway } }
}
