import type { AgentScene } from './blackbox/command-agent.ts'
import { defineBlackbox } from './blackbox/make-blackbox.ts'

/** Run without asking, and the only ones it has: others reach for the network or for a person. */
const tools = 'Bash,Read,Edit,Write'

/** Anthropic's Claude Code, a program of its own that needs no Node; it speaks the messages API only. */
export default defineBlackbox(
  {
    name: 'claude-code',
    tool: { npm: '@anthropic-ai/claude-code', version: '2.1.325' },
    files: () => ({}),
    env: (scene) => ({
      ANTHROPIC_BASE_URL: scene.baseUrl,
      ANTHROPIC_API_KEY: scene.key,
      ...modelNames(scene),
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(scene.outputTokens),
      // The model's client behind the gateway tries again by itself, but not once a reply has begun.
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    }),
    argv: ({ toolDir, cpu, model, instruction }) => [
      // The package's own launcher is made by a script of it, and none of those runs.
      `${toolDir}/node_modules/@anthropic-ai/claude-code-linux-${cpu}/claude`,
      ...['-p', '--model', model, '--tools', tools, '--allowedTools', tools],
      ...['--strict-mcp-config', '--setting-sources', '', '--output-format', 'stream-json', '--verbose'],
      ...['--', instruction],
    ],
  },
  'Anthropic’s Claude Code, from npm',
)

/** Whatever size of model it thinks of, there is only this one. */
function modelNames({ model }: AgentScene): Record<string, string> {
  const sizes = ['OPUS', 'SONNET', 'HAIKU'].map((size) => `ANTHROPIC_DEFAULT_${size}_MODEL`)
  return Object.fromEntries([...sizes, 'ANTHROPIC_SMALL_FAST_MODEL'].map((name) => [name, model]))
}
