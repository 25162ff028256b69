import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTask, makeTempDir, type TaskTree } from '../../../test/make-task.ts'
import { asOrdinaryUser } from '../../../test/ordinary-user.ts'
import { UserError } from '../../core/errors.ts'
import { loadTask } from './load.ts'

async function errorOf(work: Promise<unknown>): Promise<UserError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UserError)
  expect((error as UserError).message).not.toContain('\n')
  expect((error as UserError).hint).not.toBe('')
  return error as UserError
}

async function messageFor(tree: TaskTree): Promise<string> {
  return (await errorOf(loadTask(await makeTask(tree)))).message
}

const toml = (text: string): Promise<string> => messageFor({ 'task.toml': text })
const modern = (text: string): Promise<string> => toml(`schema_version = "1.3"\n${text}`)

test('says what part of a task is missing', async () => {
  expect(await messageFor({ 'task.toml': null })).toMatch(
    /done: expected a task directory with a task.toml, found none/,
  )
  expect(await messageFor({ 'instruction.md': null })).toMatch(
    /instruction.md: expected the instruction, found no such file/,
  )
  expect(await messageFor({ 'environment/Dockerfile': null })).toMatch(
    /environment: expected a directory, found nothing/,
  )
  expect(await messageFor({ 'environment/Dockerfile': null, environment: 'x' })).toMatch(
    /environment: expected a directory, found a file/,
  )
  expect(await messageFor({ 'tests/test.sh': null })).toMatch(
    /tests\/test.sh: expected the test script, found no such file/,
  )
})

test('says that there is no directory', async () => {
  const dir = await makeTempDir()
  expect((await errorOf(loadTask(join(dir, 'nowhere')))).message).toMatch(
    /nowhere: expected a task directory, found nothing/,
  )
  const task = await makeTask()
  expect((await errorOf(loadTask(join(task, 'task.toml')))).message).toMatch(/found a file/)
})

test('shows integers that are too large for JSON, also inside of other values', async () => {
  expect(await modern('environment = [99999999999999999999]')).toContain('got ["99999999999999999999"]')
})

test('gives line and column of broken TOML', async () => {
  expect(await toml('version = "1.0"\n[agent]\ntimeout_sec = = 3\n')).toMatch(
    /task.toml:3:15: expected TOML, got a syntax error/,
  )
})

test.each([
  ['[agent]\ntimeout_sec = "long"', 'agent.timeout_sec: expected a number of seconds, got "long"'],
  ['[agent]\ntimeout_sec = 0', 'agent.timeout_sec: expected more than 0 seconds, got 0'],
  ['[agent]\ntimeout_sec = nan', 'agent.timeout_sec: expected a number of seconds, got NaN'],
  ['[verifier]\ntimeout_sec = inf', 'verifier.timeout_sec: expected a number of seconds, got Infinity'],
  ['[environment]\ncpus = "two"', 'environment.cpus: expected a number of processors, got "two"'],
  ['[environment]\nmemory_mb = 1.5', 'environment.memory_mb: expected a whole number of at least 1, got 1.5'],
  ['[environment]\nos = "beos"', 'environment.os: expected linux or windows, got "beos"'],
  ['[environment]\nmemory = "lots"', 'environment.memory: expected a size such as "2G", "512M" or "2048K", got "lots"'],
  ['[environment]\nallow_internet = "no"', 'environment.allow_internet: expected true or false, got "no"'],
  ['[environment.env]\nPORT = 8080', 'environment.env.PORT: expected a string, got 8080'],
  ['environment = 3', 'environment: expected a table, got 3'],
  ['[verifier]\nuser = true', 'verifier.user: expected the name or the number of a user, got true'],
  ['version = 1.0', 'version: expected a string, got 1'],
  ['artifacts = [3]', 'artifacts[0]: expected a path, or a table with a source, got 3'],
  ['multi_step_reward_strategy = "best"', 'multi_step_reward_strategy: expected mean or final, got "best"'],
  ['[task]\ndescription = "no name"', 'task.name: expected a string, got nothing'],
  ['[task]\nname = "no-org"', 'task.name: expected org/name, both of letters, digits, ".", "_" and "-", got "no-org"'],
  ['[task]\nname = "org/a..b"', 'task.name: expected org/name'],
  [
    '[[steps]]\nname = "one"\n[steps.agent]\ntimeout_sec = []',
    'steps[0].agent.timeout_sec: expected a number of seconds, got []',
  ],
  ['[[steps]]\nname = "../one"', 'steps[0].name: expected the name of one directory below steps/, got "../one"'],
  ['[[steps]]\nname = "one"\n[[steps]]\nname = "ONE"', 'steps[1].name: expected a unique name, got "ONE"'],
  [
    '[[steps]]\nname = "one"\nmin_reward = "high"',
    'steps[0].min_reward: expected a number, or a table of numbers, got "high"',
  ],
  [
    '[[environment.mcp_servers]]\nname = "x"',
    'environment.mcp_servers[0].url: expected a url, which transport "sse" needs, got nothing',
  ],
  [
    '[[environment.mcp_servers]]\nname = "x"\ntransport = "stdio"',
    'environment.mcp_servers[0].command: expected a command',
  ],
  ['[environment.healthcheck]\nretries = 3', 'environment.healthcheck.command: expected a string, got nothing'],
])('names the key of %j', async (text, message) => {
  expect(await toml(text)).toContain(message)
})

test.each([
  [
    '[environment]\nmemory = "2G"\nmemory_mb = 1024',
    'environment.memory: expected it to agree with memory_mb = 1024, got "2G"',
  ],
  [
    '[environment]\nallowed_hosts = ["a.org"]',
    'environment.allowed_hosts: expected it only together with network_mode = "allowlist"',
  ],
  ['[agent]\nnetwork_mode = "public"\nallowed_hosts = ["a.org"]', 'agent.allowed_hosts: expected it only together'],
  [
    `[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a${'.'.repeat(1 << 18)}b"]`,
    'verifier.allowed_hosts: expected host names',
  ],
  [
    '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["http://a.org"]',
    'verifier.allowed_hosts: expected host names',
  ],
  [
    '[agent]\nnetwork_mode = "denylist"',
    'agent.network_mode: expected public, no-network or allowlist, got "denylist"',
  ],
  ['[environment]\nnetwork_mode = "public"\nallow_internet = false', 'environment.network_mode: expected it to agree'],
  [
    '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1',
    'verifier.environment_mode: expected "separate" next to',
  ],
  [
    'artifacts = [{ source = "/a", destination = "manifest.json" }]',
    'artifacts: expected no artifact at manifest.json',
  ],
  [
    'artifacts = [{ source = "/a", destination = "../x" }]',
    'artifacts[0].destination: expected a relative path without "..", got "../x"',
  ],
  [
    'artifacts = [{ source = "/a", destination = "/x" }]',
    'artifacts[0].destination: expected a relative path without "..", got "/x"',
  ],
  [
    'artifacts = ["/a/out", "/b/out"]',
    'artifacts: expected artifacts in different places, got "/a/out and /b/out, both at out"',
  ],
  [
    'artifacts = ["/a", { source = "/b", destination = "a/deeper" }]',
    'artifacts: expected artifacts in different places',
  ],
  [
    'artifacts = ["/a"]\n[[steps]]\nname = "one"\nartifacts = ["/b/a"]',
    'steps[0].artifacts: expected artifacts in different places',
  ],
])('refuses what contradicts itself: %j', async (text, message) => {
  expect(await modern(text)).toContain(message)
})

test('refuses an artifact that would leave its folder in every schema', async () => {
  expect(await toml('artifacts = [{ source = "/a", destination = "x/../../y" }]')).toContain('artifacts[0].destination')
  expect(await toml('artifacts = ["/a/.."]')).toContain('artifacts[0].destination')
})

test('lets old tasks do what only schema 1.3 forbids', async () => {
  const text =
    'artifacts = ["/a/out", "/b/out", { source = "/m", destination = "manifest.json" }]\n[environment]\nmemory = "2G"\nmemory_mb = 1'
  const task = await loadTask(await makeTask({ 'task.toml': text }))
  expect([task.artifacts.length, task.environment.memoryMb]).toEqual([3, 2048])
})

test('names the step whose directory, instruction or tests are missing', async () => {
  const steps = '[[steps]]\nname = "one"\n'
  expect(await toml(steps)).toMatch(/steps\/one: expected the directory of step "one", found none/)
  expect(await messageFor({ 'task.toml': steps, 'steps/one/x': '' })).toMatch(
    /steps\/one\/instruction.md: expected the instruction/,
  )
  const untested = { 'task.toml': steps, 'steps/one/instruction.md': 'x', 'tests/test.sh': null }
  expect(await messageFor(untested)).toMatch(
    /steps\/one\/tests\/test.sh or .*\/tests\/test.sh: expected the test script/,
  )
})

test('refuses parts that are links out of the task', async () => {
  const outside = await makeTask()
  for (const part of ['instruction.md', 'task.toml', 'environment', 'tests', 'solution']) {
    const dir = await makeTask()
    await rm(join(dir, part), { recursive: true })
    await symlink(join(outside, part), join(dir, part))
    expect((await errorOf(loadTask(dir))).message).toMatch(
      new RegExp(`${part}.*: expected something inside the task, got a link`),
    )
  }
})

test('refuses text that is not UTF-8', async () => {
  const dir = await makeTask({ 'instruction.md': null })
  await writeFile(join(dir, 'instruction.md'), Buffer.from([0x68, 0xff]))
  expect((await errorOf(loadTask(dir))).message).toMatch(/instruction.md: expected UTF-8 text/)
})

test('says which file may not be read', async () => {
  for (const part of ['task.toml', 'instruction.md', 'tests/test.sh', 'tests']) {
    const dir = await makeTask()
    await chmod(join(dir, part), 0o000)
    const error = await asOrdinaryUser(() => errorOf(loadTask(dir)))
    expect(error.message).toMatch(new RegExp(`${part}.*: expected a readable file, got permission denied`))
    await chmod(join(dir, part), 0o755)
  }
})

test('refuses a directory where a file should be', async () => {
  const dir = await makeTask({ 'instruction.md': null })
  await mkdir(join(dir, 'instruction.md'))
  expect((await errorOf(loadTask(dir))).message).toMatch(/instruction.md: expected a file/)
})
