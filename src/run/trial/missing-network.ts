import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { exists } from '../../lib/files.ts'

const stdoutLimit = 16 * 1024 * 1024
const testFileLimit = 1024 * 1024

/**
 * How installers report that a host cannot be reached. Each message starts a line; the host is the first group that
 * matched.
 */
const complaints = [
  /^curl: \((?:6|7)\) (?:Could not resolve host: ([\w.-]+)|Failed to connect to ([\w.-]+) port)/m,
  /^wget: (?:unable to resolve host address|bad address) ['‘"]([\w.-]+)/m,
  /^fatal: unable to access '[^']*': (?:Could not resolve host: ([\w.-]+)|Failed to connect to ([\w.-]+) port)/m,
  /^.*(?:Temporary failure resolving|Could not resolve) '([\w.-]+)'/m,
  /^.*HTTPS?ConnectionPool\(host='([\w.-]+)', port=\d+\): Max retries exceeded/m,
  /^ *(?:error|× ).*Failed to fetch:? `https?:\/\/([\w.-]+)/m,
  /^npm (?:error|ERR!) .*(?:getaddrinfo \w+|connect \w+) ([\w.-]+)/m,
]
/** pip names no host when it gives up on its index. */
const pipComplaint =
  /^ *WARNING: Retrying \(Retry\(.*(?:Temporary failure in name resolution|Name or service not known|Network is unreachable)/m

/** Where tests install from without naming the host. */
const packageHosts = new Set(
  (
    'pypi.org files.pythonhosted.org deb.debian.org security.debian.org archive.ubuntu.com security.ubuntu.com ports.ubuntu.com ' +
    'dl-cdn.alpinelinux.org registry.npmjs.org registry.yarnpkg.com conda.anaconda.org repo.anaconda.com static.crates.io ' +
    'index.crates.io proxy.golang.org repo.maven.apache.org rubygems.org'
  ).split(' '),
)

/** Programs that install from them. If the tests name none of these, the message was printed by the agent's program. */
const installers =
  /\b(?:apt(?:-get)?|apk|pip3?|uvx?|npm|npx|pnpm|yarn|conda|mamba|cargo|go (?:build|get|install|mod|run|test)|mvn|gradle|gem install|bundle install|curl|wget)\b/

/** What pytest, unittest, TAP, Go, Rust and JavaScript print once a test has started. */
const started =
  /test session starts|short test summary|^Ran \d+ tests? in|^(?:not )?ok \d|^--- (?:PASS|FAIL)|^test result:|^Tests?: +\d|^running \d+ tests?/m

/**
 * The host without which the tests could not be set up; null if a test started or there is no sign of it. A host counts
 * only if the tests name it themselves or install packages from it: an agent's program may fail to reach any other.
 */
export async function missingHost(verifierDir: string, testsDirs: readonly string[]): Promise<string | null> {
  if (await exists(join(verifierDir, 'ctrf.json'))) return null
  const printed = await readUpTo(join(verifierDir, 'test-stdout.txt'), stdoutLimit)
  if (printed === null || started.test(printed)) return null
  const hosts = complaints.flatMap((complaint) => complaint.exec(printed)?.slice(1).find(Boolean) ?? [])
  if (pipComplaint.test(printed)) hosts.push('pypi.org')
  if (hosts.length === 0) return null
  const texts = (await Promise.all(testsDirs.map(textsBelow))).flat()
  // No texts means that a separate verifier brings its own tests.
  const doInstall = texts.length === 0 || texts.some((text) => installers.test(text))
  const isTheirs = (host: string) => texts.some((text) => text.includes(host))
  return hosts.find((host) => (doInstall && packageHosts.has(host)) || isTheirs(host)) ?? null
}

async function textsBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readUpTo(file, testFileLimit)))).filter((text) => text !== null)
}

/** A regular file's text, never through a link; null when it is missing, too large, or not a regular file. */
async function readUpTo(path: string, limitBytes: number): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const stats = await file.stat()
    return stats.isFile() && stats.size <= limitBytes ? await file.readFile('utf8') : null
  } finally {
    await file.close()
  }
}
