// An agent is an object with a name, a version and `solve`. This one only looks around in its sandbox, and fails the task.
// npm run example examples/03-your-own-agent.ts
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, loadTask, makeProvider, parseTrialConfigDocument, runTrial, sandboxAlternatives } from 'ot-agent'

const curious: Agent = {
  name: 'curious',
  version: '1.0.0',
  async solve({ sandbox, instruction, record, signal }) {
    const { stdout } = await sandbox.exec(['sh', '-c', 'id -un; pwd; ls'], { signal, timeoutSec: 10 })
    record.metadata({ saw: stdout.split('\n').filter(Boolean), words: instruction.split(/\s+/).length })
    return { kind: 'finished' }
  },
}

const task = await loadTask('examples/tasks/csv-to-json')
const asked = { task: { path: task.dir }, trial_name: 'curious', agent: { name: curious.name } }
const record = await runTrial({
  task,
  agent: curious,
  provider: await makeProvider('local'),
  config: parseTrialConfigDocument(asked, 'this example').config,
  jobName: 'examples',
  attempt: 0,
  retries: 0,
  dir: await mkdtemp(join(tmpdir(), 'curious-')),
  signal: new AbortController().signal,
  hooks: [],
  hostEnv: {},
  alternatives: sandboxAlternatives,
})
console.log(JSON.stringify({ end: record.end, saw: record.metadata }))
