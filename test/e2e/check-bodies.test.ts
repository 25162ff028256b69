import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { makeAgent } from '../../src/plugins/make.ts'
import { checkTasks } from '../../src/run/check/check-tasks.ts'
import { needs } from '../needs.ts'
import { writeTree } from '../trees.ts'
import { alternatives, provider, scratch, withSandboxes } from './kit.ts'

/** A task that asks for the body of a function, with the asserts as its tests. */
function bodyTask(asserts: string) {
  const code = (body: string) => `def unique(items):\n    """The different items, sorted."""\n${body}\n`
  const test = `cd /app
python3 -c 'from shapes import unique
${asserts}
print("passed")' > /tmp/log 2>&1
[ "$(tail -n 1 /tmp/log)" = passed ] && reward=1 || reward=0
echo $reward > /logs/verifier/reward.txt`
  const files = {
    'task.toml': 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
    'instruction.md': 'The function `unique` of `/app/shapes.py` lacks its body. Write it.\n',
    'environment/Dockerfile': 'FROM python:3.12-slim\nWORKDIR /app\nCOPY shapes.py /app/shapes.py\n',
    'environment/shapes.py': code('    raise NotImplementedError'),
    'solution/shapes.py': code('    return sorted(set(items))'),
    'solution/solve.sh': '#!/bin/bash\ncp /solution/shapes.py /app/shapes.py\n',
    'tests/test.sh': `#!/bin/bash\n${test}\n`,
  }
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [path, { content, mode: path.endsWith('.sh') ? 0o755 : 0o644 }]),
  )
}

withSandboxes(
  'tasks check on functions to write',
  () => {
    test.each([
      ['one example that a constant satisfies', 'assert unique([]) == []', 'fail', ['[]', 'the first argument']],
      [
        'an example that the first argument satisfies',
        'assert unique([1, 2]) == [1, 2]',
        'fail',
        ['the first argument'],
      ],
      ['enough examples', 'assert unique([]) == []\nassert unique([2, 1, 2]) == [1, 2]', 'ok', []],
    ])('a task with %s', async (title, asserts, outcome, bodies) => {
      const dir = join(scratch, title.replaceAll(' ', '-'))
      await writeTree(dir, bodyTask(asserts))
      const [report] = await checkTasks([await loadTask(dir)], {
        ...{ provider, sandboxOptions: {}, makeAgent, alternatives, hostEnv: {} },
        repeats: 1,
        lintOnly: false,
        signal: new AbortController().signal,
        concurrency: 1,
        workDir: join(scratch, 'work'),
        keep: false,
        onReport: () => {},
      })
      const shallow = report?.checks.find(({ name }) => name === 'shallow')
      expect({ outcome: shallow?.outcome, verdict: report?.verdict }).toEqual({
        outcome,
        verdict: outcome === 'ok' ? 'accepted' : 'rejected',
      })
      const reasons = bodies.map((body) => `a shallow solution scores 1: write the body of unique: return ${body}`)
      expect(shallow?.reasons).toEqual(reasons.slice(0, 1))
    })
  },
  needs('python3').meta.skipReason ?? null,
)
