import { stringify } from 'smol-toml'
import type { CommandAgentContext } from './shared/blackbox/command-agent.ts'
import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** OpenAI's Codex, which speaks only the responses API. */
export default defineBlackbox(
  {
    name: 'codex',
    tool: { npm: '@openai/codex', version: '0.166.0' },
    mcp: ({ transport, url, command, args }) => {
      if (transport === 'sse') return null
      return { ...(transport === 'stdio' ? { command, args } : { url }), startup_timeout_sec: 60 }
    },
    // Not in its own home, where it puts the skills it ships with.
    skills: '.agents/skills',
    files: (context) => ({ [`${context.home}/.codex/config.toml`]: stringify(config(context)) }),
    env: ({ home, key }) => ({ CODEX_HOME: `${home}/.codex`, GATEWAY_KEY: key }),
    argv: ({ toolDir, instruction }) => [
      `${toolDir}/node_modules/.bin/codex`,
      // The trial already has a sandbox, and no second one can be made inside it.
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--'],
      instruction,
    ],
  },
  'OpenAI Codex, from npm',
)

/** Turns off everything that uses the network without being asked. */
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
        // The model's client behind the gateway retries by itself, but not once a reply has begun.
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
    // Otherwise it starts without the tools of a server that takes more than a moment to start.
    mcp_optional_startup_grace_ms: 60_000,
    mcp_servers: mcpServers,
    analytics: { enabled: false },
    feedback: { enabled: false },
  }
}
