// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose files are full of them.
import { execFileSync, spawnSync } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeTempDir, type TaskTree, writeTree } from '../../test/make-task.ts'
import { loadTask } from './harbor-task/load.ts'
import { convertTerminalBenchTask, findTerminalBenchTasks } from './terminal-bench.ts'

const client = `
    build:
      dockerfile: Dockerfile
    image: \${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: \${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [ "sh", "-c", "sleep infinity" ]
    environment:
      - TEST_DIR=\${T_BENCH_TEST_DIR}
    volumes:
      - \${T_BENCH_TASK_LOGS_PATH}:\${T_BENCH_CONTAINER_LOGS_PATH}
      - \${T_BENCH_TASK_AGENT_LOGS_PATH}:\${T_BENCH_CONTAINER_AGENT_LOGS_PATH}
`

const usual: TaskTree = {
  'task.yaml': `# canary
instruction: |-
  Write hello to
  /app/hello.txt.
author_name: Ada Example
author_email: ada@example.org
difficulty: easy
category: files
tags: [files, easy]
parser_name: pytest
max_agent_timeout_sec: 180
max_test_timeout_sec: 30.5
run_tests_in_same_shell: false
expert_time_estimate_min: 5
junior_time_estimate_min: null
`,
  Dockerfile: 'FROM debian:12-slim\nWORKDIR /app\nCOPY data ./data\n',
  'docker-compose.yaml': `services:\n  client:${client}`,
  'run-tests.sh': '#!/bin/bash\npytest $TEST_DIR/test_outputs.py -rA\n',
  'tests/test_outputs.py': 'def test_it(): pass\n',
  'solution.sh': '#!/bin/bash\necho hello > /app/hello.txt\n',
  'data/input.txt': '1\n',
  'data/run.sh': 'exit 0\n',
}

async function makeSource(tree: TaskTree = {}): Promise<string> {
  const dir = join(await makeTempDir(), 'hello')
  await writeTree(dir, { ...usual, ...tree })
  return dir
}

async function convert(tree: TaskTree = {}) {
  const source = await makeSource(tree)
  const dir = join(await makeTempDir(), 'out', basename(source))
  const { warnings } = await convertTerminalBenchTask(source, dir)
  const read = (path: string) => readFile(join(dir, path), 'utf8')
  return { dir, warnings, read, files: (await readdir(dir, { recursive: true })).sort(), task: await loadTask(dir) }
}

test('converts a task with one container', async () => {
  const { task, files, read, warnings, dir } = await convert()
  expect(warnings).toEqual([])
  expect(files.filter((path) => /\./.test(path) || path.endsWith('Dockerfile'))).toEqual([
    'environment/Dockerfile',
    'environment/data/input.txt',
    'environment/data/run.sh',
    'instruction.md',
    'solution/solve.sh',
    'task.toml',
    'tests/run-tests.sh',
    'tests/test.sh',
    'tests/test_outputs.py',
  ])
  expect(task).toMatchObject({
    name: 'hello',
    instruction: 'Write hello to\n/app/hello.txt.\n',
    agent: { timeoutSec: 180 },
    verifier: { timeoutSec: 30.5, mode: 'shared' },
    environment: { env: {}, network: { mode: 'public' } },
  })
  expect(task.metadata).toEqual({
    author_name: 'Ada Example',
    author_email: 'ada@example.org',
    difficulty: 'easy',
    category: 'files',
    tags: ['files', 'easy'],
    parser_name: 'pytest',
    expert_time_estimate_min: 5,
  })
  expect(await read('environment/Dockerfile')).toBe(usual.Dockerfile)
  expect(await read('solution/solve.sh')).toBe(usual['solution.sh'])
  for (const script of ['tests/test.sh', 'tests/run-tests.sh', 'solution/solve.sh', 'environment/data/run.sh']) {
    expect((await lstat(join(dir, script))).mode & 0o777).toBe(0o755)
  }
})

test.each([
  ['exit 0', '1', 0],
  ['[ "$TEST_DIR" = TESTS ]', '1', 0],
  ['set -e\nfalse\necho not here', '0', 1],
  ['exec sh -c "exit 7"', '0', 7],
])('turns the exit code of %j into the reward %s', async (runTests, reward, exitCode) => {
  const { dir, read } = await convert({ 'run-tests.sh': runTests.replace('TESTS', '/tests') })
  const logs = await makeTempDir()
  const script = (await read('tests/test.sh'))
    .replaceAll('/logs/verifier', logs)
    .replace('bash /tests/', `bash ${dir}/tests/`)
  expect(spawnSync('bash', ['-c', script]).status).toBe(exitCode)
  expect((await readFile(join(logs, 'reward.txt'), 'utf8')).trim()).toBe(reward)
})

const block = (...said: string[]) =>
  ['SWEBench results starts here', ...said, 'SWEBench results ends here'].map((line) => `echo '${line}'`).join('\n')

test.each([
  ['a test that failed before fails again', `echo 'FAILED test_old'\n${block('PASSED')}`, '1', 0],
  ['the tests of the change fail', `echo 'PASSED test_old'\n${block('FAILED')}`, '0', 0],
  ['lines end as on Windows', block('PASSED\r'), '1', 0],
  ['the parser cannot be installed', 'uv-that-is-missing run parser.py', null, 1],
  ['the parser fails after its verdict', `${block('PASSED')}\nexit 3`, null, 1],
  ['only the agent’s program prints a verdict', `${block('PASSED')}\necho 'Traceback: no verdict'`, null, 1],
  ['a verdict says nothing', block(), null, 1],
])('the parser’s verdict is the reward when %s', async (_, runTests, reward, exitCode) => {
  const yaml = `${usual['task.yaml']}`.replace('parser_name: pytest', 'parser_name: swebench')
  const { dir, read, warnings } = await convert({ 'task.yaml': yaml, 'run-tests.sh': runTests })
  expect(warnings).toEqual([])
  const logs = await makeTempDir()
  const script = (await read('tests/test.sh'))
    .replaceAll('/logs/verifier', logs)
    .replace('bash /tests/', `bash ${dir}/tests/`)
  expect(spawnSync('bash', ['-c', script]).status).toBe(exitCode)
  expect(await readFile(join(logs, 'reward.txt'), 'utf8').catch(() => null)).toBe(reward && `${reward}\n`)
})

const limited = (limits: string) => `services:\n  client:${client}${limits}`

test.each([
  ["    deploy:\n      resources:\n        limits:\n          cpus: '1'\n", { cpus: 1 }],
  ['    deploy: { resources: { limits: { cpus: 2, memory: 2G } } }\n', { cpus: 2, memoryMb: 2048 }],
  ['    cpus: 4\n    mem_limit: 512mb\n', { cpus: 4, memoryMb: 512 }],
])('folds the limits of one container into task.toml: %j', async (limits, expected) => {
  const { task, files, read } = await convert({ 'docker-compose.yaml': limited(limits) })
  expect(files).not.toContain('environment/docker-compose.yaml')
  expect(task.environment).toMatchObject(expected)
  expect(await read('task.toml')).toMatch(/^cpus = \d+$/m)
})

test.each([
  '    cpus: 0.5\n',
  '    mem_limit: 1000b\n',
  '    deploy: { replicas: 2 }\n',
  '    deploy: { resources: { reservations: { cpus: 1 } } }\n',
])('keeps a compose file with a limit that task.toml cannot state: %j', async (limits) => {
  expect((await convert({ 'docker-compose.yaml': limited(limits) })).files).toContain('environment/docker-compose.yaml')
})

test('works without a compose file, and from an image without a Dockerfile', async () => {
  const plain = await convert({ 'docker-compose.yaml': null })
  expect(plain.files).toContain('environment/Dockerfile')
  const image = await convert({
    Dockerfile: null,
    'docker-compose.yaml': 'services:\n  client:\n    image: python:3.13-slim\n',
  })
  expect(await image.read('environment/Dockerfile')).toBe('FROM python:3.13-slim\n')
  expect(image.files).not.toContain('environment/docker-compose.yaml')
})

test('keeps variables and the working directory of one container in task.toml', async () => {
  const compose = `version: "3"
services:
  client:
    build: .
    working_dir: /srv
    environment:
      TEST_DIR: \${T_BENCH_TEST_DIR}
      PORT: 8080
      TOKEN: \${TOKEN:-none}
`
  const { task, files } = await convert({ 'docker-compose.yaml': compose })
  expect(files).not.toContain('environment/docker-compose.yaml')
  expect(task.environment).toMatchObject({ workdir: '/srv', env: { PORT: '8080', TOKEN: '${TOKEN:-none}' } })
})

test('takes the context that the one container is built from', async () => {
  const { files, read } = await convert({
    Dockerfile: null,
    'docker-compose.yaml': 'services:\n  client:\n    build:\n      context: ./box\n      dockerfile: docker/Agent\n',
    'box/docker/Agent': 'FROM debian:12-slim\n',
    'box/tests/own.txt': 'part of the context\n',
  })
  expect(await read('environment/Dockerfile')).toBe('FROM debian:12-slim\n')
  expect(files).toContain('environment/tests/own.txt')
  expect(files).not.toContain('environment/data')
})

test('keeps a compose file with several services and calls the first main', async () => {
  const compose = `services:
  client:${client}    depends_on: [server]
    networks: [net]
  server:
    build:
      context: server
    image: \${T_BENCH_TASK_DOCKER_NAME_PREFIX}__server
    depends_on:
      client:
        condition: service_started
    network_mode: service:client
networks:
  net: {}
`
  const { files, read, warnings } = await convert({
    'docker-compose.yaml': compose,
    'server/Dockerfile': 'FROM debian:12-slim\n',
  })
  expect(warnings).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['environment/Dockerfile', 'environment/server/Dockerfile']))
  expect(parse(await read('environment/docker-compose.yaml'))).toEqual({
    services: {
      main: { environment: ['TEST_DIR=/tests'], depends_on: ['server'], networks: ['net'] },
      server: {
        build: { context: 'server' },
        image: 'hello__server',
        depends_on: { main: { condition: 'service_started' } },
        network_mode: 'service:main',
      },
    },
    networks: { net: {} },
  })
})

test('keeps the compose file of one container with special needs', async () => {
  const compose = `services:
  client:
    build:
      context: .
      args: { A: "1" }
    image: x
    command: ./serve
    privileged: true
    volumes: [ "\${T_BENCH_TASK_LOGS_PATH}:/x" ]
`
  const { read, warnings } = await convert({ 'docker-compose.yaml': compose })
  expect(parse(await read('environment/docker-compose.yaml'))).toEqual({
    services: {
      main: {
        build: { context: '${CONTEXT_DIR}', args: { A: '1' } },
        command: './serve',
        privileged: true,
        volumes: ['${T_BENCH_TASK_LOGS_PATH}:/x'],
      },
    },
  })
  expect(warnings).toEqual(['docker-compose.yaml: nothing sets its remaining T_BENCH_* variables'])
})

test('makes a script of a solution.yaml', async () => {
  const solution =
    '- command: cd /app\n  block: true\n- command: |\n    cat > x <<EOF\n    y\n    EOF\n- command: echo hello > hello.txt\n  append_enter: true\n'
  const { read, warnings } = await convert({ 'solution.sh': null, 'solution.yaml': solution })
  expect(warnings).toEqual([])
  expect(await read('solution/solve.sh')).toBe(
    '#!/bin/bash\n\ncd /app\ncat > x <<EOF\ny\nEOF\n\necho hello > hello.txt\n',
  )
})

test('leaves out a solution that presses keys, and says so', async () => {
  const solution = '- command: nano x\n- command: C-x\n  append_enter: false\n'
  const { files, warnings } = await convert({ 'solution.sh': null, 'solution.yaml': solution })
  expect(files).not.toContain('solution')
  expect(warnings).toEqual([expect.stringContaining('solution.yaml presses keys')])
})

test('lets bash run a solution whatever its first line', async () => {
  const { read } = await convert({ 'solution.sh': '#!/bin/sh\n[[ 1 == 1 ]]\n' })
  expect(await read('solution/solve.sh')).toBe('#!/bin/bash\n#!/bin/sh\n[[ 1 == 1 ]]\n')
})

test('warns about what Harbor cannot do', async () => {
  const yaml = `${usual['task.yaml']}`
    .replace('same_shell: false', 'same_shell: true')
    .replace('parser_name: pytest', 'parser_name: sweperf')
  const { warnings, files } = await convert({
    'task.yaml': yaml,
    Dockerfile: 'FROM x\nCOPY --chown=a ./tests/test_outputs.py \\\n  /x/\n',
  })
  expect(warnings).toEqual([
    expect.stringContaining('run_tests_in_same_shell'),
    expect.stringContaining('parser_name sweperf'),
    'the Dockerfile copies tests: the agent can read it',
  ])
  expect(files).toContain('environment/tests/test_outputs.py')
})

test('reads the wording of the oldest tasks', async () => {
  const yaml =
    'descriptions:\n  - key: hard\n    description: no\n  - key: base\n    description: Do it.\ndifficulty: easy\n'
  const { task } = await convert({ 'task.yaml': yaml })
  expect(task).toMatchObject({ instruction: 'Do it.\n', agent: { timeoutSec: 360 }, verifier: { timeoutSec: 60 } })
})

test('copies links as links', async () => {
  const source = await makeSource()
  await symlink('/etc/passwd', join(source, 'data/outside'))
  await symlink('input.txt', join(source, 'data/inside'))
  const dir = join(await makeTempDir(), 'hello')
  await convertTerminalBenchTask(source, dir)
  expect(await readlink(join(dir, 'environment/data/outside'))).toBe('/etc/passwd')
  expect(await readlink(join(dir, 'environment/data/inside'))).toBe('input.txt')
})

test.each<[string, TaskTree]>([
  ['task.yaml:1:15: expected YAML', { 'task.yaml': 'instruction: [' }],
  ['task.yaml: expected an instruction, found none', { 'task.yaml': 'difficulty: easy' }],
  [
    'task.yaml: max_agent_timeout_sec: expected a number of seconds, got "long"',
    { 'task.yaml': 'instruction: x\nmax_agent_timeout_sec: long' },
  ],
  ['task.yaml: the file: expected a map of keys, got "x"', { 'task.yaml': 'x' }],
  ['Dockerfile: expected a Dockerfile, found no such file', { Dockerfile: null }],
  [
    'docker-compose.yaml: expected a service called client, found a, b',
    { 'docker-compose.yaml': 'services:\n  a: {}\n  b: {}\n' },
  ],
  ['docker-compose.yaml: expected services, found none', { 'docker-compose.yaml': 'x: 1' }],
  ['solution.yaml: [0].command: expected a command, got nothing', { 'solution.sh': null, 'solution.yaml': '- x: 1' }],
  ['run-tests.sh: expected the script that runs the tests, found no such file', { 'run-tests.sh': null }],
  ['tests/test.sh: expected no file of this name', { 'tests/test.sh': 'exit 0' }],
])('says %j and leaves nothing behind', async (message, tree) => {
  const source = await makeSource(tree)
  const out = await makeTempDir()
  await expect(convertTerminalBenchTask(source, join(out, 'a/hello'))).rejects.toThrow(message)
  expect(await readdir(out)).toEqual([])
})

test('refuses pipes, and targets that exist', async () => {
  const source = await makeSource()
  execFileSync('mkfifo', [join(source, 'data/pipe')])
  const out = await makeTempDir()
  await expect(convertTerminalBenchTask(source, join(out, 'x'))).rejects.toThrow('data/pipe: expected a file')
  await mkdir(join(out, 'y'))
  await expect(convertTerminalBenchTask(source, join(out, 'y'))).rejects.toThrow('expected a new path')
  expect(await readdir(out, { recursive: true })).toEqual(['y'])
})

test('finds a task, or the tasks of a folder', async () => {
  const folder = await makeTempDir()
  await writeTree(folder, { 'b/task.yaml': '', 'a/task.yaml': '', 'c/other': '', 'file.txt': '' })
  expect(await findTerminalBenchTasks(join(folder, 'b'))).toEqual([join(folder, 'b')])
  expect(await findTerminalBenchTasks(folder)).toEqual([join(folder, 'a'), join(folder, 'b')])
  await expect(findTerminalBenchTasks(join(folder, 'c'))).rejects.toThrow('expected a task.yaml here')
  await expect(findTerminalBenchTasks(join(folder, 'file.txt'))).rejects.toThrow('found no directory')
  await expect(findTerminalBenchTasks(join(folder, 'nowhere'))).rejects.toThrow('found no directory')
})
