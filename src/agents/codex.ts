import { stringify } from 'smol-toml'
import type { CommandAgentContext } from './shared/blackbox/command-agent.ts'
import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** OpenAI's Codex, which speaks the responses API only. */
export default defineBlackbox(
  {
    name: 'codex',
    tool: { npm: '@openai/codex', version: '0.166.0' },
    mcp: ({ transport, url, command, args }) => {
      if (transport === 'sse') return null
      return { ...(transport === 'stdio' ? { command, args } : { url }), startup_timeout_sec: 60 }
    },
    // Not in its own home, where it puts skills that it brings along.
    skills: '.agents/skills',
    files: (context) => ({ [`${context.home}/.codex/config.toml`]: stringify(config(context)) }),
    env: ({ home, key }) => ({ CODEX_HOME: `${home}/.codex`, GATEWAY_KEY: key }),
    argv: ({ toolDir, instruction }) => [
      `${toolDir}/node_modules/.bin/codex`,
      // The sandbox is the trial's own; a second one inside it cannot be made.
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--'],
      instruction,
    ],
  },
  'OpenAI Codex, from npm',
)

/** Everything that reaches for the network without being asked is off. */
function config({ baseUrl, model, contextTokens, mcpServers }: CommandAgentContext) {
  return {
    model,
    model_provider: 'gateway',
    model_context_window: contextTokens,
    web_search: 'disabled',
    check_for_update_on_startup: false,
    model_providers: {
      gateway: {
        name: 'gateway',
        base_url: `${baseUrl}/v1`,
        env_key: 'GATEWAY_KEY',
        wire_api: 'responses',
        // The model's client behind the gateway tries again by itself, but not once a reply has begun.
        request_max_retries: 0,
        stream_max_retries: 2,
      },
    },
    features: {
      plugins: false,
      remote_plugin: false,
      plugin_discovery_prefetch: false,
      apps: false,
      multi_agent: false,
      goals: false,
    },
    // Otherwise it begins without the tools of a server that takes more than a moment to start.
    mcp_optional_startup_grace_ms: 60_000,
    mcp_servers: mcpServers,
    analytics: { enabled: false },
    feedback: { enabled: false },
  }
}
