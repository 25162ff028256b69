import { z } from 'zod'
import { parseJson } from '../../../lib/parse-json.ts'
import type { Manager } from './install.ts'
import { pipKey } from './package.ts'

/** Installed versions, by the name that `readPackage` returns. */
export type Versions = ReadonlyMap<string, string>

/**
 * What a version may look like before it goes into a Dockerfile. Programs in a sandbox can print anything, so nothing
 * that a shell, JSON or a Dockerfile would interpret gets through.
 */
const patterns: Record<Manager | 'image', RegExp> = {
  apt: /^(?:\d{1,6}:)?[0-9A-Za-z][0-9A-Za-z.+~-]{0,120}$/,
  pip: /^\d{1,12}(?:\.\d{1,12}){0,12}(?:(?:a|b|rc)\d{1,6})?(?:\.post\d{1,9})?(?:\.dev\d{1,12})?(?:\+[0-9A-Za-z]{1,40}(?:\.[0-9A-Za-z]{1,40}){0,8})?$/,
  npm: /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,80})?$/,
  image: /^sha256:[0-9a-f]{64}$/,
}

/** Whether a text is a plain version, or an image digest, and nothing else. */
export function isVersion(manager: Manager | 'image', version: string): boolean {
  return patterns[manager].test(version)
}

/** Parses a sandbox's answer to `Install.ask`; anything but a name and a version is skipped. */
export function parseVersions(manager: Manager, answer: string): Versions {
  const found = readers[manager](answer)
  return new Map(found.filter(([name, version]) => name !== '' && isVersion(manager, version)))
}

const readers: Record<Manager, (answer: string) => (readonly [string, string])[]> = {
  apt: readDpkg,
  pip: readPipList,
  npm: readNpmList,
}

/** A name without an architecture only counts if all its architectures have the same version. */
function readDpkg(answer: string): [string, string][] {
  const found = new Map<string, string>()
  const torn = new Set<string>()
  for (const line of answer.split('\n')) {
    const [name = '', architecture = '', version = '', status = ''] = line.split('\t')
    if (status !== 'installed') continue
    found.set(`${name}:${architecture}`, version)
    if ((found.get(name) ?? version) !== version) torn.add(name)
    found.set(name, version)
  }
  return [...found].filter(([name]) => !torn.has(name))
}

const pipList = z.array(z.looseObject({ name: z.string(), version: z.string() }))

function readPipList(answer: string): [string, string][] {
  const list = pipList.safeParse(parseJson(answer)).data ?? []
  return list.map(({ name, version }) => [pipKey(name), version])
}

const npmList = z.looseObject({ dependencies: z.record(z.string(), z.looseObject({ version: z.string().optional() })) })

function readNpmList(answer: string): [string, string][] {
  const { dependencies = {} } = npmList.safeParse(parseJson(answer)).data ?? {}
  return Object.entries(dependencies).map(([name, { version = '' }]) => [name, version])
}
