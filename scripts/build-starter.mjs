// Builds the program that starts local sandboxes, from src/sandboxes/local/starter: node scripts/build-starter.mjs
// Builds for x64 and arm64, and the results are committed. The same sources and compilers give the same bytes.
// With --checked DIR it builds into that folder for this machine, with checks for memory errors and undefined behavior.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src/sandboxes/local/starter')
/** The folder of the built programs, which also holds hashes of them and of their sources. */
export const prebuilt = join(sources, 'prebuilt')
export const hashName = 'sha256sums'

/** The compilers of Debian 12: another version may produce other bytes. */
const versions = { compiler: '12.2.0', linker: '2.40' }
const compilers = { x64: 'x86_64-linux-gnu-gcc', arm64: 'aarch64-linux-gnu-gcc' }
export const kinds = Object.keys(compilers)

// No C library: it would be several times the size of the program and add pages that a fork has to copy.
const flags = [
  ...['-std=gnu11', '-Os', '-Wall', '-Wextra', '-Werror', '-ffreestanding', '-fno-builtin', '-fno-stack-protector'],
  ...['-fno-tree-loop-distribute-patterns', '-fno-asynchronous-unwind-tables', '-fno-pic', '-fno-ident'],
  ...['-no-pie', '-static', '-nostdlib', '-Wl,--build-id=none', '-Wl,-z,noexecstack', '-s'],
]

/** Why the same bytes cannot be built here; null if they can. */
export function whyNotBuilt(kind) {
  const compiler = compilers[kind]
  const asked = spawnSync(compiler, ['-dumpfullversion'], { encoding: 'utf8' })
  if (asked.error) return `needs ${compiler}, not found on this machine`
  const found = asked.stdout.trim()
  if (found !== versions.compiler) return `needs ${compiler} ${versions.compiler}, this is ${found}`
  const linker = spawnSync(compiler, ['-Wl,--version'], { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
  if (!linker.split(' ').some((word) => word === versions.linker))
    return `needs a linker ${versions.linker}, this is ${linker}`
  const headers = spawnSync(compiler, ['-E', '-include', 'linux/mount.h', '-x', 'c', '/dev/null'])
  return headers.status === 0 ? null : `needs the kernel's headers for ${kind}`
}

/** The name of a built program. */
export function nameOf(kind) {
  return `starter-${kind}`
}

/** Compiles it into a directory. */
export function buildStarter(kind, dir) {
  execFileSync(compilers[kind], [...flags, ...files('.c'), '-o', join(dir, nameOf(kind))], { stdio: 'inherit' })
}

/**
 * One line for everything that affects the bytes except the compiler, and one for each program: replacing only one of
 * them shows.
 */
export function hashes() {
  const ofSources = createHash('sha256').update(JSON.stringify(flags))
  for (const file of [...files('.h'), ...files('.c')]) ofSources.update(readFileSync(file))
  const programs = kinds.map((kind) => [
    nameOf(kind),
    createHash('sha256').update(readFileSync(join(prebuilt, nameOf(kind)))),
  ])
  return [['sources', ofSources], ...programs].map(([name, hash]) => `${hash.digest('hex')}  ${name}\n`).join('')
}

function files(ending) {
  return readdirSync(sources)
    .filter((name) => name.endsWith(ending))
    .toSorted()
    .map((name) => join(sources, name))
}

function buildChecked(dir) {
  const checks = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer', '-g', '-O1']
  const how = ['-std=gnu11', '-DHOSTED', '-fno-builtin', ...checks]
  execFileSync('gcc', [...how, ...files('.c'), '-o', join(dir, nameOf(process.arch))], { stdio: 'inherit' })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const checked = process.argv.indexOf('--checked')
  if (checked > 0) buildChecked(process.argv[checked + 1] ?? '.')
  else {
    const missing = kinds.map(whyNotBuilt).filter((why) => why !== null)
    for (const why of missing) process.stderr.write(`nothing was built: ${why}\n`)
    process.exitCode = missing.length > 0 ? 1 : 0
    if (missing.length === 0) {
      for (const kind of kinds) buildStarter(kind, prebuilt)
      writeFileSync(join(prebuilt, hashName), hashes())
    }
  }
}
