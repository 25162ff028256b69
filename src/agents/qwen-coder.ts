import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** Everything that reaches for the network without being asked is off. */
const settings = {
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  // Without a terminal it takes a command as over once the process ends, and can lose output that is still on its way.
  tools: { shell: { enableInteractiveShell: true } },
  // The model's client behind the gateway tries again by itself, but not once a reply has begun.
  model: { generationConfig: { maxRetries: 2 } },
}

/** Qwen Code, asked over chat completions; needs Node 20 or later in the sandbox. */
export default defineBlackbox(
  {
    name: 'qwen-coder',
    tool: { npm: '@qwen-code/qwen-code', version: '0.24.4' },
    mcp: ({ transport, url, command, args }) => {
      if (transport === 'stdio') return { command, args }
      return transport === 'sse' ? { url } : { httpUrl: url }
    },
    skills: '.qwen/skills',
    files: ({ home, mcpServers }) => ({
      [`${home}/.qwen/settings.json`]: JSON.stringify({ ...settings, mcpServers }, null, 2),
    }),
    env: ({ baseUrl, key, model }) => ({
      OPENAI_BASE_URL: `${baseUrl}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: model,
    }),
    argv: ({ toolDir, instruction }) => [
      `${toolDir}/node_modules/.bin/qwen`,
      ...['--auth-type', 'openai', '--yolo', '-o', 'json', `--prompt=${instruction}`],
    ],
  },
  'Qwen Code, from npm',
)
