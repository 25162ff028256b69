import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** Turns off everything that uses the network without being asked. */
const settings = {
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  // Without a terminal, it considers a command finished once the process ends, and can lose output still in transit.
  tools: { shell: { enableInteractiveShell: true } },
  // The model's client behind the gateway retries by itself, but not once a reply has begun.
  model: { generationConfig: { maxRetries: 2 } },
}

/** Qwen Code, using chat completions; needs Node 20 or later in the sandbox. */
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
