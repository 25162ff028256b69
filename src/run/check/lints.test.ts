import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Tree, tempDir, writeTree } from '../../../test/trees.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { lintTask } from './lints.ts'
import { loadTaskFiles } from './task-files.ts'

const files: Record<string, string> = {
  'task.toml': 'schema_version = "1.2"\n[task]\nname = "ot-agent/sum"\n',
  'instruction.md': 'Write the sum of the numbers in /app/numbers.txt to /app/sum.txt, followed by a newline.\n',
  'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\nCOPY numbers.txt /app/numbers.txt\n',
  'environment/numbers.txt': '3\n4\n5\n',
  'solution/solve.sh': "#!/bin/bash\nawk '{ sum += $1 } END { print sum }' /app/numbers.txt > /app/sum.txt\n",
  'tests/test.sh':
    '#!/bin/bash\nif [ "$(cat /app/sum.txt)" = 12 ]; then\n  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0 > /logs/verifier/reward.txt\nfi\n',
}

/** The lints' findings for the task above with some files changed (null removes one). */
async function lint(changes: Record<string, string | null>, modes: Record<string, number> = {}): Promise<string[]> {
  const dir = join(await tempDir(), 'sum')
  const tree: Tree = {}
  for (const [path, content] of Object.entries({ ...files, ...changes })) {
    if (content !== null) tree[path] = { content, mode: modes[path] ?? (path.endsWith('.sh') ? 0o755 : 0o644) }
  }
  await writeTree(dir, tree)
  const task = await loadTask(dir, { allowNoTests: true })
  const findings = await lintTask(task, await loadTaskFiles(task))
  return findings.map(({ severity, lint, path }) => `${severity} ${lint} ${path}`)
}

const testScript = (body: string) => ({ 'tests/test.sh': `#!/bin/bash\n${body}\n` })
const reward = '/logs/verifier/reward.txt'

test('an honest task has no findings', async () => {
  expect(await lint({})).toEqual([])
})

test('a task lets its agent change the system with true or false and nothing else', async () => {
  const toml = (value: string) => ({
    'task.toml': `${files['task.toml']}[metadata]\nagent_may_modify_system = ${value}\n`,
  })
  for (const value of ['true', 'false']) expect(await lint(toml(value))).toEqual([])
  expect(await lint(toml('"yes"'))).toEqual(['error system-key task.toml'])
})

test('missing parts are named', async () => {
  expect(await lint({ 'solution/solve.sh': null })).toEqual(['error no-solution solution/solve.sh'])
  expect(await lint({ 'tests/test.sh': null })).toEqual(['error no-tests tests/test.sh'])
})

test('a separate verifier may bring its tests in an image', async () => {
  const toml = `${files['task.toml']}[verifier]\nenvironment_mode = "separate"\n`
  expect(await lint({ 'task.toml': toml, 'tests/test.sh': null, 'tests/Dockerfile': 'FROM debian:12-slim\n' })).toEqual(
    [],
  )
})

test('scripts need a shebang, LF line ends and valid syntax; the executable bit is advice', async () => {
  const bare = files['tests/test.sh']!.replace('#!/bin/bash\n', '')
  expect(await lint({ 'tests/test.sh': bare })).toEqual(['error script-no-shebang tests/test.sh'])
  const windows = files['solution/solve.sh']!.replaceAll('\n', '\r\n')
  expect(await lint({ 'solution/solve.sh': windows })).toEqual(['error script-crlf solution/solve.sh'])
  expect(await lint({ 'solution/solve.sh': '#!/bin/bash\nif true; then\n' })).toEqual([
    'error script-syntax solution/solve.sh',
  ])
  expect(await lint({}, { 'tests/test.sh': 0o644 })).toEqual(['warning script-not-executable tests/test.sh'])
})

test('patterns that a script switches on itself are valid syntax', async () => {
  expect(await lint({ 'solution/solve.sh': '#!/bin/bash\nshopt -s extglob\nrm /app/!(numbers).txt\n' })).toEqual([])
})

test('a script in another language is not read as shell', async () => {
  expect(await lint({ 'solution/solve.sh': '#!/usr/bin/env python3\nif True:\n    print("(")\n' })).toEqual([])
  expect(await lint({ 'solution/solve.sh': '#!/usr/bin/env -S bash -e\nif\n' })).toEqual([
    'error script-syntax solution/solve.sh',
  ])
})

test('a broken script in the environment may be the task', async () => {
  expect(await lint({ 'environment/broken.sh': 'if\r\n' })).toEqual([])
})

test('an instruction must not be empty', async () => {
  expect(await lint({ 'instruction.md': '<!-- canary 123 -->\n\n' })).toEqual([
    'error instruction-empty instruction.md',
  ])
  expect(await lint({ 'instruction.md': 'Make it work.\n' })).toEqual(['warning instruction-short instruction.md'])
})

test('template text is found; a task about such text has no finding', async () => {
  const scaffold = ['error scaffold-text instruction.md']
  expect(await lint({ 'instruction.md': '# Task\n\nTODO: say what the agent has to do, and where.\n' })).toEqual(
    scaffold,
  )
  expect(await lint({ 'instruction.md': 'Write your task description here, with all that is needed.\n' })).toEqual(
    scaffold,
  )
  expect(
    await lint({ 'instruction.md': 'Collect every TODO comment of /app into todo.txt:\n\n    TODO: one per line\n' }),
  ).toEqual([])
  expect(
    await lint({ 'instruction.md': '# TODO list service\n\nWrite it to /app. Put your solution here: /app/todo.sh\n' }),
  ).toEqual([])
  expect(await lint({ 'solution/solve.sh': `#!/bin/bash\n# TODO: solve it\nexit 1\n` })).toEqual([
    'warning scaffold-text solution/solve.sh',
  ])
})

test('tests that mention no reward are found', async () => {
  expect(await lint(testScript('test -f /app/sum.txt'))).toEqual(['error verifier-no-reward tests/test.sh'])
  expect(await lint({ ...testScript('python3 /tests/grade.py'), 'tests/grade.py': 'write("reward.json")\n' })).toEqual(
    [],
  )
})

test.each([
  ['no condition at all', `ls /app\necho 1 > ${reward}`],
  ['one value in both branches', `if test -f /app/sum.txt; then echo 1 > ${reward}; else echo 1.0 > ${reward}; fi`],
  ['no branch for failure', `[ -f /app/sum.txt ] && echo 1 > ${reward}`],
  ['a variable that is always 1', `reward=1\nls /app\necho "$reward" > "${reward}"`],
  ['the same JSON', `echo '{"reward": 1}' > /logs/verifier/reward.json`],
  ['printf', `printf '%s\\n' 1 > ${reward}\nprintf "1\\n" > ${reward}`],
])('a reward that cannot vary is found: %s', async (_, body) => {
  expect(await lint(testScript(body))).toEqual(['error verifier-one-value tests/test.sh'])
})

test.each([
  ['a variable with two values', `reward=0\ncmp -s /app/x /tests/x && reward=1\necho $reward > ${reward}`],
  ['a trap', `reward=0\ntrap 'echo "$reward" > ${reward}' EXIT\ncmp /app/a /tests/b || exit\nreward=1`],
  ['a command', `echo "$(grep -c ok /app/log)" > ${reward}`],
  ['another program', `python3 /tests/grade.py --out ${reward}\necho 0 > ${reward}.bak`],
  ['a pipe', `grep -c ok /app/log | tee ${reward}`],
  ['a counted variable', `n=0\nfor f in /app/*; do ((n++)); done\necho $n > ${reward}`],
  ['a grader of the image, with a fallback', `grade /app || echo 0 > ${reward}`],
  ['cases', `cmp /app/a /tests/b\ncase $? in 0) echo 1 > ${reward} ;; *) echo 0 > ${reward} ;; esac`],
  ['a path in a variable', `out=${reward}\necho 0 > "$out"\ncmp /app/a /tests/b && echo 1 > "$out"`],
])('a reward that can vary passes: %s', async (_, body) => {
  expect(await lint(testScript(body))).toEqual([])
})

test('a full reward before the checks is a warning', async () => {
  expect(await lint(testScript(`echo 1 > ${reward}\ncmp /app/a /tests/b || echo 0 > ${reward}`))).toEqual([
    'warning verifier-fails-open tests/test.sh',
  ])
  expect(await lint(testScript(`echo 0 > ${reward}\ncmp /app/a /tests/b && echo 1 > ${reward}`))).toEqual([])
})

test.each([
  ['a fallback', `cmp /app/a /tests/b && echo 1 > ${reward}\n[ -f ${reward} ] || echo 0 > ${reward}`],
  [
    'an early way out',
    `if [ -s "${reward}" ]; then exit 0; fi\nif cmp /app/a /tests/b; then echo 1 > ${reward}; else echo 0 > ${reward}; fi`,
  ],
  [
    'reading it',
    `old=$(cat ${reward})\nif cmp /app/a /tests/b; then echo 1 > ${reward}; else echo "$old" > ${reward}; fi`,
  ],
])('trust in a reward file that is already there is found: %s', async (_, body) => {
  expect(await lint(testScript(body))).toContain('error verifier-trusts-reward-file tests/test.sh')
})

test.each([
  [
    'old ones are removed',
    `rm -f ${reward}\ncmp /app/a /tests/b && echo 1 > ${reward}\n[ -f ${reward} ] || echo 0 > ${reward}`,
  ],
  [
    'it was just written',
    `echo 0 > ${reward}\ncmp /app/a /tests/b && echo 1 > ${reward}\necho "reward: $(cat ${reward})"`,
  ],
  [
    'both branches wrote it',
    `if cmp /app/a /tests/b; then echo 1 > ${reward}; else echo 0 > ${reward}; fi\ntest -f ${reward} && ls -l ${reward}`,
  ],
])('looking at the reward file is fine when %s', async (_, body) => {
  expect(await lint(testScript(body))).toEqual([])
})

test('a guard against the crash of a grader is only a warning', async () => {
  const guard = testScript(`python3 /tests/grade.py\n[ -f ${reward} ] || echo 0 > ${reward}`)
  const warning = ['warning verifier-trusts-reward-file tests/test.sh']
  expect(await lint({ ...guard, 'tests/grade.py': `open("${reward}", "w")\n` })).toEqual(warning)
  expect(await lint(testScript(`grade --out ${reward}\n[ -s ${reward} ] || echo 0 > ${reward}`))).toEqual(warning)
  expect(await lint(testScript(`rm -f ${reward}\ngrade\n[ -s ${reward} ] || echo 0 > ${reward}`))).toEqual([])
})

test('a guard in a trap next to both values is fine', async () => {
  const script = `trap '[ -f ${reward} ] || echo 0 > ${reward}' EXIT\nfail() {\n  echo 0.0 > ${reward}\n  exit\n}\ncmp /app/a /tests/b || fail\necho 1 > ${reward}`
  expect(await lint(testScript(script))).toEqual([])
})

test('a build that takes tests or solution is found', async () => {
  const docker = (line: string) => ({ 'environment/Dockerfile': `FROM debian:12-slim\n${line}\n` })
  expect(await lint(docker('COPY ../tests /tests'))).toEqual(['error leak-build-context environment/Dockerfile'])
  expect(await lint({ 'environment/docker-compose.yaml': 'volumes: ["../solution:/s"]\n' })).toEqual([
    'error leak-build-context environment/docker-compose.yaml',
  ])
  expect(await lint(docker('COPY tests /app/tests\nRUN cd /app/src && ../tests/run.sh'))).toEqual([])
  expect(await lint(docker('COPY ../tests-of-the-app /app'))).toEqual([])
})

test('a script of solution or tests in the environment is found', async () => {
  const copied = { 'environment/notes/hint.txt': `for later:\n${files['solution/solve.sh']!.split('\n')[1]}\n` }
  expect(await lint(copied)).toEqual(['error leak-script-in-environment environment/notes/hint.txt'])
  const tests = { 'environment/check.sh': files['tests/test.sh']! }
  expect(await lint(tests)).toEqual(['error leak-script-in-environment environment/check.sh'])
})

test('an instruction that gives the solution away is found', async () => {
  const given = `${files['instruction.md']}\n\nFor example: \`${files['solution/solve.sh']!.split('\n')[1]}\`\n`
  expect(await lint({ 'instruction.md': given })).toEqual(['error leak-solution-in-instruction instruction.md'])
})

test('an instruction that states the answer is found', async () => {
  const say = (text: string) => lint({ 'instruction.md': `${files['instruction.md']}\n${text}\n` })
  expect(await say('(The answer is 12.)')).toEqual(['error leak-answer-in-instruction instruction.md'])
  expect(await say('Answer: `12`')).toEqual(['error leak-answer-in-instruction instruction.md'])
  expect(await say('Example: with 7 and 5 the expected output is `12`.')).toEqual([])
  expect(await say('The answer is a number. The expected output is in /app/sum.txt.')).toEqual([])
  expect(await say('The answer is not 13.')).toEqual([])
})

test('expected output in the open is a warning', async () => {
  const answer = 'alpha 1\nbeta 2\ngamma 3\n'
  expect(await lint({ 'tests/expected.txt': answer, 'environment/data/all.txt': `zero 0\n${answer}` })).toEqual([
    'warning leak-expected-output environment/data/all.txt',
  ])
  expect(await lint({ 'tests/data.txt': answer, 'environment/data.txt': answer })).toEqual([])
})

test('every step of a task is linted', async () => {
  const toml = `${files['task.toml']}[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n`
  const step = (name: string) => ({
    [`steps/${name}/instruction.md`]: files['instruction.md']!,
    [`steps/${name}/solution/solve.sh`]: files['solution/solve.sh']!,
  })
  const found = await lint({
    ...{ 'task.toml': toml, 'instruction.md': null, 'solution/solve.sh': null },
    ...step('one'),
    ...step('two'),
    'steps/two/solution/solve.sh': null,
    'steps/two/tests/test.sh': `#!/bin/bash\necho 1 > ${reward}\n`,
  })
  expect(found).toEqual([
    'error no-solution steps/two/solution/solve.sh',
    'error verifier-one-value steps/two/tests/test.sh',
  ])
})

test('tests that only check that a file exists are an error; one look at its content is enough', async () => {
  const named = ['error verifier-existence-only tests/test.sh']
  const branches = `then\n  echo 1 > ${reward}\nelse\n  echo 0 > ${reward}\nfi`
  expect(await lint(testScript(`mkdir -p /logs/verifier\nif [ -f /app/sum.txt ]; ${branches}`))).toEqual(named)
  expect(await lint(testScript(`if [[ -s /app/sum.txt ]] && test -f /app/x; ${branches}`))).toEqual(named)
  expect(await lint(testScript(`r=0\n[ -e /app/sum.txt ] && r=1\necho $r > ${reward}`))).toEqual(named)
  expect(await lint(testScript(`if [ -f /app/sum.txt ] && grep -q 12 /app/sum.txt; ${branches}`))).toEqual([])
  expect(await lint(testScript(`if [ -f /app/sum.txt ] && [ "$(cat /app/sum.txt)" = 12 ]; ${branches}`))).toEqual([])
  expect(await lint(testScript(`if [ -f /app/sum.txt ] && [ "$(wc -l < /app/sum.txt)" -eq 1 ]; ${branches}`))).toEqual(
    [],
  )
})
