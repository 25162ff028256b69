import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Entry {
  readonly resolved?: string
  readonly version?: string
  readonly link?: boolean
  readonly integrity?: string
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly hasInstallScript?: boolean
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Entry> }
const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const permissive = ['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'Unlicense']
const packages = Object.entries(lock.packages).filter(([path]) => path !== '')

test('no package is tied to a host it was downloaded from', () => {
  expect(packages.filter(([, entry]) => entry.resolved !== undefined).map(([path]) => path)).toEqual([])
})

test('docs/licenses.md lists what is installed with ours, and every license lets anyone use and change it', () => {
  const written = readFileSync('docs/licenses.md', 'utf8')
  const printed = execFileSync(process.execPath, ['scripts/licenses.mjs', '--print'], { encoding: 'utf8' })
  expect(written, 'node scripts/licenses.mjs writes it').toBe(printed)
  const licenses = new Set(written.match(/(?<=^\| \S+ \| \S+ \| ).+(?= \|$)/gm))
  expect([...licenses].filter((license) => !permissive.includes(license))).toEqual(['license'])
})

test('every package has a checksum', () => {
  expect(packages.filter(([, entry]) => !entry.integrity && !entry.link).map(([path]) => path)).toEqual([])
})

test('every package with binaries has them for Linux on x64 and on arm64', () => {
  const native = packages.filter(([, entry]) => binariesOf(entry).some(([, binary]) => runsOn(binary, 'linux')))
  const lacking = native.flatMap(([path, entry]) =>
    ['x64', 'arm64']
      .filter((cpu) => !binariesOf(entry).some(([, b]) => runsOn(b, 'linux', cpu)))
      .map((cpu) => `${path}: ${cpu}`),
  )
  expect(native.map(([path]) => path)).toContain('node_modules/@lydell/node-pty')
  expect(lacking).toEqual([])
})

test('no binary that a package asks for is missing from the lockfile', () => {
  const missing = packages.flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !binaryEntry(name))
      .map((name) => `${path} -> ${name}`),
  )
  expect(missing).toEqual([])
})

test('every dependency of ours is pinned to one version', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }
  expect(Object.entries(all).filter(([, range]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(range)))).toEqual([])
})

test('no package runs a script when it is installed', () => {
  const scripted = packages
    .filter(([, entry]) => entry.hasInstallScript)
    .map(([path]) => path.replace('node_modules/', ''))
  expect(scripted.filter((name) => manifest.allowScripts?.[name] !== false)).toEqual([])
})

function binariesOf(entry: Entry): [name: string, binary: Entry][] {
  return Object.keys(entry.optionalDependencies ?? {}).flatMap((name): [string, Entry][] => {
    const binary = binaryEntry(name)
    return binary?.os ? [[name, binary]] : []
  })
}

function binaryEntry(name: string): Entry | undefined {
  return lock.packages[`node_modules/${name}`]
}

function runsOn(binary: Entry, os: string, cpu?: string): boolean {
  const glibc = binary.libc === undefined || binary.libc.includes('glibc')
  return glibc && (binary.os?.includes(os) ?? false) && (cpu === undefined || (binary.cpu?.includes(cpu) ?? false))
}
