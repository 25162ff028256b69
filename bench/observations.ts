import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import terminus from '../src/agents/terminus-2/index.ts'
import { loadTask } from '../src/formats/harbor-task/load.ts'
import { estimateTokens } from '../src/lib/estimate-tokens.ts'
import { runTrial } from '../src/run/trial.ts'
import local from '../src/sandboxes/local/index.ts'
import { agentConfig, jobConfig, trialConfig } from '../test/fakes/configs.ts'
import { playedClient } from '../test/fakes/model-client.ts'
import { writeTask } from '../test/fakes/tasks.ts'
import type { Row } from './lib/rows.ts'

/** Ordinary terminal work: short outputs, listings, a look that finds nothing new. */
const ordinary = [
  'ls /usr/bin | head -20\n',
  'cat /etc/os-release\n',
  'mkdir work; cd work\n',
  'for i in 1 2 3 4 5; do echo step $i; done > log\n',
  'cat log\n',
  '',
  'grep -c bash /etc/passwd\n',
  'pwd\n',
]
/** A log longer than a pane's history: Harbor's agent shows only its end. */
const flood = ['pwd\n', 'seq 1 3000\n']

/** Our estimate of what observations cost in tokens: those of a pane, as Harbor sends them, and the other kinds. */
export default {
  name: 'observations',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const rows: Row[] = []
      for (const [what, commands] of Object.entries({ 'short outputs': ordinary, '3,000 lines': flood }))
        for (const kind of ['pane', 'compact', 'lines'] as const)
          rows.push({
            name: `${what}, observations=${kind}`,
            value: await tokens(scratch, kind, commands),
            unit: 'tokens',
          })
      return rows
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

async function tokens(
  scratch: string,
  observations: 'pane' | 'compact' | 'lines',
  commands: readonly string[],
): Promise<number> {
  const said = (keystrokes: string | null) =>
    JSON.stringify({
      analysis: '',
      plan: '',
      commands: keystrokes === null ? [] : [{ keystrokes, duration: 1 }],
      ...(keystrokes === null && { task_complete: true }),
    })
  const client = playedClient([...commands.map(said), said(null)])
  const context = { env: {}, stateDir: join(scratch, 'state') }
  const task = await loadTask(
    await writeTask(scratch, `task-${observations}-${commands.length}`, { toml: 'schema_version = "1.2"\n' }),
  )
  await runTrial({
    task,
    agent: terminus.make(terminus.options.parse({ observations }), context),
    client,
    provider: local.make({ pids: 64, verify: 'fresh' }, context),
    config: trialConfig({
      trialName: `bench__${observations}`,
      agent: agentConfig({ name: 'terminus-2', modelName: client.model }),
      verifier: { ...jobConfig().verifier, disable: true },
    }),
    jobName: 'bench',
    attempt: 0,
    retries: 0,
    dir: join(scratch, 'trials', `${observations}-${commands.length}`),
    signal: new AbortController().signal,
    hooks: [],
    hostEnv: {},
    alternatives: async () => [],
  })
  const shown = client.requests.slice(1, commands.length + 1).map(({ messages }) => messages.at(-1)?.content ?? '')
  return shown.reduce((sum, text) => sum + estimateTokens(text), 0)
}
