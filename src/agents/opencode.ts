import type { CommandAgentContext } from './shared/blackbox/command-agent.ts'
import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** The opencode agent, a standalone program that needs no Node; used here over chat completions. */
export default defineBlackbox(
  {
    name: 'opencode',
    tool: { npm: 'opencode-ai', version: '1.18.18' },
    mcp: ({ transport, url, command, args }) =>
      transport === 'stdio' ? { type: 'local', command: [command, ...args] } : { type: 'remote', url },
    skills: '.config/opencode/skills',
    files: (context) => ({
      [`${context.home}/.config/opencode/opencode.json`]: JSON.stringify(config(context), null, 2),
    }),
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }),
    argv: ({ toolDir, cpu, model, instruction }) => [
      // The package's own launcher is created by an install script, and those are not run.
      `${toolDir}/node_modules/opencode-linux-${cpu}/bin/opencode`,
      // Given a title, it does not ask the model for one.
      ...['run', '--format', 'json', '--title', 'task', '-m', `gateway/${model}`, '--', instruction],
    ],
  },
  'the opencode agent, from npm',
)

function config({ baseUrl, key, model, contextTokens, outputTokens, mcpServers }: CommandAgentContext) {
  const name = `gateway/${model}`
  return {
    autoupdate: false,
    share: 'disabled',
    model: name,
    small_model: name,
    enabled_providers: ['gateway'],
    permission: { bash: 'allow', edit: 'allow', external_directory: 'allow', webfetch: 'deny' },
    mcp: mcpServers,
    provider: {
      gateway: {
        npm: '@ai-sdk/openai-compatible',
        name: 'gateway',
        options: { baseURL: `${baseUrl}/v1`, apiKey: key },
        models: { [model]: { name: model, limit: { context: contextTokens, output: outputTokens } } },
      },
    },
  }
}
