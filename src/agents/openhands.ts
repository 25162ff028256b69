import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** The OpenHands command line, using chat completions; needs Python 3.12 in the sandbox. */
export default defineBlackbox(
  {
    name: 'openhands',
    tool: { pip: 'openhands', version: '1.16.0', python: '3.12' },
    mcp: ({ transport, url, command, args }) =>
      transport === 'stdio' ? { command, args } : { url, transport: transport === 'sse' ? 'sse' : 'http' },
    skills: '.openhands/skills',
    files: ({ home, mcpServers }) => ({ [`${home}/.openhands/mcp.json`]: JSON.stringify({ mcpServers }, null, 2) }),
    env: ({ toolDir, baseUrl, key, model }) => ({
      PYTHONPATH: `${toolDir}/site`,
      PYTHONDONTWRITEBYTECODE: '1',
      LLM_API_KEY: key,
      LLM_BASE_URL: `${baseUrl}/v1`,
      LLM_MODEL: `openai/${model}`,
      OPENHANDS_SUPPRESS_BANNER: '1',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    }),
    argv: ({ instruction }) => [
      ...['python3.12', '-m', 'openhands_cli.entrypoint', '--headless', '--json', '--override-with-envs', '--yolo'],
      `--task=${instruction}`,
    ],
  },
  'the OpenHands command line, from PyPI',
)
