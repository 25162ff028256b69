import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** Turns off everything that uses the network without being asked. */
const settings = {
  // The model's client behind the gateway retries by itself, but not once a reply has begun.
  general: { enableAutoUpdate: false, maxAttempts: 2 },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
}

/** Google's Gemini CLI, which speaks only generateContent; needs Node 20 or later in the sandbox. */
export default defineBlackbox(
  {
    name: 'gemini-cli',
    tool: { npm: '@google/gemini-cli', version: '0.61.0' },
    mcp: ({ transport, url, command, args }) => {
      if (transport === 'stdio') return { command, args }
      return transport === 'sse' ? { url } : { httpUrl: url }
    },
    skills: '.gemini/skills',
    files: ({ home, mcpServers }) => ({
      [`${home}/.gemini/settings.json`]: JSON.stringify({ ...settings, mcpServers }, null, 2),
    }),
    env: ({ baseUrl, key }) => ({
      GOOGLE_GEMINI_BASE_URL: baseUrl,
      GEMINI_API_KEY: key,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    argv: ({ toolDir, model, instruction }) => [
      `${toolDir}/node_modules/.bin/gemini`,
      ...['--yolo', '-m', model, '-o', 'json', `--prompt=${instruction}`],
    ],
  },
  'Google’s Gemini CLI, from npm',
)
