import { defineBlackbox } from './shared/blackbox/make-blackbox.ts'

/** The mini-SWE-agent, using chat completions; the sandbox needs the Python version it was installed for. */
export default defineBlackbox(
  {
    name: 'mini-swe-agent',
    // Its model library loads this package at the first call with tools, but does not declare it.
    tool: { pip: 'mini-swe-agent', version: '2.4.6', also: ['mcp==2.3.0'] },
    files: () => ({}),
    env: ({ toolDir, home, baseUrl, key }) => ({
      PYTHONPATH: `${toolDir}/site`,
      PYTHONDONTWRITEBYTECODE: '1',
      OPENAI_API_KEY: key,
      OPENAI_API_BASE: `${baseUrl}/v1`,
      MSWEA_CONFIGURED: 'true',
      MSWEA_GLOBAL_CONFIG_DIR: `${home}/.config/mini-swe-agent`,
      MSWEA_SILENT_STARTUP: '1',
      // The gateway already tracks the cost of calls.
      MSWEA_COST_TRACKING: 'ignore_errors',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    }),
    argv: ({ home, model, instruction }) => [
      ...['python3', '-m', 'minisweagent.run.mini', '--yolo', '--exit-immediately', '--cost-limit', '0'],
      ...['--output', `${home}/mini-swe-agent.traj.json`, '--model', `openai/${model}`, `--task=${instruction}`],
    ],
  },
  'the mini-SWE-agent, from PyPI',
)
