import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { missingHost } from './missing-network.ts'

const tests = { 'test.sh': 'curl -LsSf https://astral.sh/uv/install.sh | sh\nuvx pytest /tests\n' }

async function hostIn(printed: string, logs: Record<string, string> = {}, files = tests): Promise<string | null> {
  const [verifier, testsDir] = [await makeTempDir(), await makeTempDir()]
  await writeTree(testsDir, files)
  await writeTree(verifier, { 'test-stdout.txt': printed, ...logs })
  return missingHost(verifier, [testsDir])
}

test.each([
  ['curl: (6) Could not resolve host: astral.sh\n/tests/test.sh: line 2: uvx: command not found\n', 'astral.sh'],
  ['curl: (7) Failed to connect to astral.sh port 443 after 1 ms: Could not connect to server\n', 'astral.sh'],
  ["wget: unable to resolve host address 'astral.sh'\n", 'astral.sh'],
  ["fatal: unable to access 'https://astral.sh/x/': Could not resolve host: astral.sh\n", 'astral.sh'],
  [
    "Err:1 http://deb.debian.org/debian bookworm InRelease\n  Temporary failure resolving 'deb.debian.org'\n",
    'deb.debian.org',
  ],
  [
    "W: Failed to fetch http://archive.ubuntu.com/x  Temporary failure resolving 'archive.ubuntu.com'\n",
    'archive.ubuntu.com',
  ],
  [
    "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/pytest/\n",
    'pypi.org',
  ],
  [
    'error: Failed to fetch: `https://pypi.org/simple/pytest/`\n  Caused by: dns error: failed to lookup address information\n',
    'pypi.org',
  ],
  [
    'npm error request to https://registry.npmjs.org/jest failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org\n',
    'registry.npmjs.org',
  ],
])('a host that could not be reached is found in %j', async (printed, host) => {
  expect(await hostIn(printed)).toBe(host)
})

const complaint = 'curl: (6) Could not resolve host: astral.sh\n'
test.each([
  ['nothing is said', ''],
  ['a test started all the same', `${complaint}===== test session starts =====\n1 failed\n`],
  ['a test started all the same, of another framework', `${complaint}Ran 3 tests in 0.1s\n`],
  ['the host is one that only the agent’s program asked for', 'curl: (6) Could not resolve host: my-api.example\n'],
  ['the words are in the middle of a line', `main.c:1: error: ${complaint}`],
])('no host is found when %s', async (_, printed) => {
  expect(await hostIn(printed)).toBe(null)
})

test('tests that install nothing miss no host of packages, whatever the agent’s program prints', async () => {
  const printed = "Temporary failure resolving 'deb.debian.org'\n"
  expect(await hostIn(printed, {}, { 'test.sh': 'bash /app/run.sh | grep -q ok\n' })).toBe(null)
  expect(await hostIn(printed, {}, { 'test.sh': 'apt-get install -y jq\nbash /app/run.sh | jq .\n' })).toBe(
    'deb.debian.org',
  )
})

test('a report of tests shows that they ran', async () => {
  expect(await hostIn(complaint, { 'ctrf.json': '{}' })).toBe(null)
})

test('what the tests printed is not read through a link', async () => {
  const dir = await makeTempDir()
  await writeTree(dir, { 'elsewhere.txt': 'curl: (6) Could not resolve host: pypi.org\n' })
  const verifier = await makeTempDir()
  await symlink(join(dir, 'elsewhere.txt'), join(verifier, 'test-stdout.txt'))
  expect(await missingHost(verifier, [])).toBe(null)
})

test('a line of nothing but spaces is scanned in linear time', async () => {
  expect(await hostIn(' '.repeat(4_000_000))).toBe(null)
})
