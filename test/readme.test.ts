import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import type { MakeCommand } from '../src/app/flags/command.ts'
import { commands, type Group } from '../src/cli/commands.ts'
import { splitShellWords } from '../src/lib/shell-words.ts'
import { registry } from '../src/plugins/table.ts'

const documents = ['README.md', 'AGENTS.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...pages('docs')]
const scripts: Record<string, string> = JSON.parse(readFileSync('package.json', 'utf8')).scripts

describe.each(documents)('%s', (document) => {
  const text = readFileSync(document, 'utf8')
  const code = codeOf(text)

  test('names only paths that exist', () => {
    expect(pathsIn(text, document).filter((path) => !isThere(path))).toEqual([])
  })

  test('names only commands, flags and plug-ins that exist', async () => {
    const problems = await Promise.all(commandLinesIn(code).map(problemOf))
    expect(problems.filter((problem) => problem !== null)).toEqual([])
  })

  test('names no flag that nothing takes', async () => {
    const known = new Set([...(await everyFlag()), ...flagsOfScripts()])
    const bare = code.flatMap((piece) => (/^-{1,2}[a-z][\w-]*$/i.test(piece) ? [piece.replaceAll('_', '-')] : []))
    expect(bare.filter((flag) => !known.has(flag))).toEqual([])
  })

  test('names only npm scripts that exist', () => {
    const named = code.flatMap((piece) => [...piece.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test)\b)/g)])
    expect(named.map((match) => match[1] ?? match[2] ?? '').filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})

test.each([...documents, ...pages('data'), ...pages('students'), ...pages('trainers')])(
  '%s gives commands that can be copied: the program is not on the PATH',
  (document) => {
    const { blocks } = partsOf(readFileSync(document, 'utf8'))
    expect(blocks.filter((line) => /^(?:.*(?:&&|\||;) )?ot-agent [a-z]/.test(line.trim()))).toEqual([])
  },
)

test('the first screen of the README gives the two commands', () => {
  const screen = readFileSync('README.md', 'utf8').split('\n').slice(0, 24).join('\n')
  expect(screen).toContain('npm ci && npm run demo')
  expect(screen).toContain('npm ci && npm test')
})

test('the pictures of the README are small, described and all in use, and the first screen has one', () => {
  const text = readFileSync('README.md', 'utf8')
  const pictures = [...text.matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, words = '', path = '']) => ({ words, path }))
  expect(pictures.map(({ path }) => path).sort()).toEqual(
    readdirSync('docs/images').map((name) => `docs/images/${name}`),
  )
  for (const { words, path } of pictures) {
    expect([path, words.length > 20]).toEqual([path, true])
    expect([path, statSync(path).size < 60_000]).toEqual([path, true])
  }
  expect(text.split('\n').slice(0, 12).join('\n')).toContain('](docs/images/')
})

test('CI runs the test command of the README, part by part', () => {
  const ci = readFileSync('.ci/run', 'utf8')
  expect(ci).toMatch(/^check npm ci/m)
  expect(ci).toMatch(/^tests npm test$/m)
})

test('the program of a checkout starts without npm, also through a link', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const link = join(mkdtempSync(join(tmpdir(), 'linked-')), 'ot-agent')
  symlinkSync(resolve('ot-agent'), link)
  for (const program of ['./ot-agent', link])
    expect(spawnSync(program, ['--version'], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stdout: `${version}\n`,
    })
})

test('a checkout that is not built says how to build it', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'not-built-'))
  cpSync('bin', join(checkout, 'bin'), { recursive: true })
  cpSync('ot-agent', join(checkout, 'ot-agent'))
  const { status, stderr } = spawnSync(join(checkout, 'ot-agent'), ['--help'], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'error: ot-agent is not built\nhint: npm ci builds it\n' })
})

test('npm ci and npm pack build the program, and an install of the package runs nothing', () => {
  expect(scripts).toMatchObject({ dependencies: scripts.build, prepack: scripts.build })
  // `npx ot-agent` in a checkout would run these again, and npm asks users of the package to approve them.
  const hooks = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare']
  expect(hooks.filter((name) => Object.hasOwn(scripts, name))).toEqual([])
})

test('AGENTS.md stays under a hundred lines', () => {
  expect(readFileSync('AGENTS.md', 'utf8').split('\n').length).toBeLessThan(100)
})

/** Every piece of code on a page: lines of code blocks, and spans between backticks, which may wrap. */
function codeOf(text: string): string[] {
  const { blocks, prose } = partsOf(text)
  const spans = [...prose.join('\n').matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? '').replaceAll('\n', ' '))
  return [...blocks, ...spans]
}

function partsOf(text: string) {
  const blocks: string[] = []
  const prose: string[] = []
  let fenced = false
  // A line that ends in a backslash continues on the next one.
  for (const line of text.replaceAll(/ *\\\n\s*/g, ' ').split('\n')) {
    if (line.startsWith('```')) fenced = !fenced
    else if (fenced || /^ {4}\S/.test(line)) blocks.push(line)
    else prose.push(line)
  }
  return { blocks, prose }
}

/** Paths in this checkout that a page names, in code, prose or links; absolute paths are inside a sandbox. */
function pathsIn(text: string, document: string): string[] {
  const rooms = readdirSync('.', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const names = [...rooms.map((entry) => entry.name), '.ci'].filter(
    (name) => !['jobs', 'runs', 'generated', 'node_modules', '.git', '.scratch'].includes(name),
  )
  const rooted = new RegExp(
    `(?<![\\w./<-])(?:${names.map((name) => name.replaceAll('.', '\\.')).join('|')})/[\\w./-]*`,
    'g',
  )
  const single =
    /(?<![\w./-])(?:[A-Z]{2,}\.md|LICENSE|package(?:-lock)?\.json|[\w.]+\.config\.ts|(?:biome|tsconfig)\.json)(?![\w/])/g
  const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#]+)/g)].map((match) => join(document, '..', match[1] ?? ''))
  const named = [...text.matchAll(rooted), ...text.matchAll(single)].map((match) => match[0].replace(/[.,:;]+$/, ''))
  return [...named, ...links]
}

/** Git does not store empty folders, so one does not count. */
function isThere(path: string): boolean {
  return existsSync(path) && (!statSync(path).isDirectory() || readdirSync(path).length > 0)
}

/** The words of each `ot-agent` command line, without comments and whatever follows `&&`, `|` or `>`. */
function commandLinesIn(code: readonly string[]): string[][] {
  const lines = code.flatMap((piece) =>
    [...piece.matchAll(/(?:^|\s)(?:\.\/)?ot-agent ([^#|&>]+)/g)].map((match) => match[1] ?? ''),
  )
  return lines.map((line) => {
    const words = (line.split(/\s{2,}/)[0] ?? '').trim()
    return splitShellWords(words) ?? words.split(/\s+/)
  })
}

/** What is wrong with a command line according to the command's own parser; null if nothing is. */
async function problemOf(words: readonly string[]): Promise<string | null> {
  const line = `ot-agent ${words.join(' ')}`
  if (words[0]?.startsWith('-')) return ['--help', '--version'].includes(words[0]) ? null : `${line}: no such option`
  if (words[0] === 'version') return null
  const found = await findCommand(words[0] === 'help' ? words.slice(1) : words, commands)
  if (found === null) return `${line}: no such command`
  if (found === 'group' || found.rest.length === 0) return null
  const command = found
    .make()
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
  let seen: Readonly<Record<string, unknown>> = {}
  command.action(() => {
    seen = command.opts()
  })
  try {
    await command.parseAsync(found.rest, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? null : `${line}: ${error.message}`
  }
  return unknownPlugin(line, seen)
}

function unknownPlugin(line: string, options: Readonly<Record<string, unknown>>): string | null {
  const checks = [
    ['agent', registry.agents],
    ['environment', registry.sandboxes],
  ] as const
  for (const [option, table] of checks) {
    const names = [options[option] ?? []].flat()
    const unknown = names.find((name) => typeof name === 'string' && !Object.hasOwn(table, name))
    if (unknown !== undefined) return `${line}: no such ${option} ${JSON.stringify(unknown)}`
  }
  return null
}

type Found = { readonly make: MakeCommand; readonly rest: string[] } | 'group' | null

async function findCommand([name = '', ...rest]: readonly string[], group: Group): Promise<Found> {
  const entry = Object.hasOwn(group, name) ? group[name] : undefined
  if (!entry) return null
  const isBelow = 'group' in entry && (!('load' in entry) || Object.hasOwn(entry.group, rest[0] ?? ''))
  if ('load' in entry && !isBelow) return { make: (await entry.load()).default, rest }
  if (!('group' in entry)) return null
  return rest.length === 0 ? 'group' : findCommand(rest, entry.group)
}

async function everyFlag(group: Group = commands): Promise<string[]> {
  const flags = Object.values(group).map(async (entry) => {
    const below = 'group' in entry ? await everyFlag(entry.group) : []
    const options = 'load' in entry ? (await entry.load()).default().options : []
    const own = options.flatMap((option) => [option.long, option.short].filter((flag) => typeof flag === 'string'))
    return [...below, ...own]
  })
  return ['--help', '--version', ...(await Promise.all(flags)).flat()]
}

/** Flags that our own scripts accept. */
function flagsOfScripts(): string[] {
  const sources = readdirSync('scripts').map((name) => readFileSync(join('scripts', name), 'utf8'))
  return sources.flatMap((source) => [...source.matchAll(/'(--[\w-]+)'/g)].map((match) => match[1] ?? ''))
}

function pages(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(dir, name))
    .sort()
}
