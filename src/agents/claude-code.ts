import type { CommandAgentContext } from './shared/blackbox/command-agent.ts'
import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** Its only built-in tools that are enabled: others need the network or a person. */
const ownTools = ['Bash', 'Read', 'Edit', 'Write']

/** Anthropic's Claude Code, a standalone program that needs no Node; it speaks only the messages API. */
export default defineBlackbox(
  {
    name: 'claude-code',
    tool: { npm: '@anthropic-ai/claude-code', version: '2.1.325' },
    mcp: ({ transport, url, command, args }) =>
      transport === 'stdio' ? { type: 'stdio', command, args } : { type: transport === 'sse' ? 'sse' : 'http', url },
    skills: '.claude/skills',
    files: ({ home, mcpServers }) => ({ [`${home}/mcp.json`]: JSON.stringify({ mcpServers }, null, 2) }),
    env: (context) => ({
      ANTHROPIC_BASE_URL: context.baseUrl,
      ANTHROPIC_API_KEY: context.key,
      ...modelNames(context),
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(context.outputTokens),
      // The model's client behind the gateway retries by itself, but not once a reply has begun.
      CLAUDE_CODE_MAX_RETRIES: '2',
      MCP_TIMEOUT: '60000',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    }),
    argv: ({ toolDir, home, cpu, model, instruction, ...offers }) => [
      // The package's own launcher is created by an install script, and those are not run.
      `${toolDir}/node_modules/@anthropic-ai/claude-code-linux-${cpu}/claude`,
      ...['-p', '--model', model, ...toolFlags(offers), '--mcp-config', `${home}/mcp.json`, '--strict-mcp-config'],
      // It treats skills in its home as user settings.
      ...['--setting-sources', offers.skillsDir === null ? '' : 'user', '--output-format', 'stream-json', '--verbose'],
      ...['--', instruction],
    ],
  },
  'Anthropic’s Claude Code, from npm',
)

/** No user is present to grant permission. */
function toolFlags({ mcpServers, skillsDir }: Pick<CommandAgentContext, 'mcpServers' | 'skillsDir'>): string[] {
  const tools = [...ownTools, ...(skillsDir === null ? [] : ['Skill'])]
  const allowed = [...tools, ...Object.keys(mcpServers).map((name) => `mcp__${name}`)]
  return ['--tools', tools.join(), '--allowedTools', allowed.join()]
}

/** Whatever model size it asks for, there is only this one. */
function modelNames({ model }: CommandAgentContext): Record<string, string> {
  const sizes = ['OPUS', 'SONNET', 'HAIKU'].map((size) => `ANTHROPIC_DEFAULT_${size}_MODEL`)
  return Object.fromEntries([...sizes, 'ANTHROPIC_SMALL_FAST_MODEL'].map((name) => [name, model]))
}
