import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CommandFile, type MakeCommand, runCommand } from '../src/app/flags/command.ts'
import { commands, type Group } from '../src/cli/commands.ts'
import { UserError } from '../src/core/errors.ts'

/** These tests examine the built program, as a user starts it. */
beforeAll(() => {
  if (!existsSync('dist/cli/main.js'))
    throw new Error('expected the built program dist/cli/main.js, found none: npm run build')
})

describe('starting up', () => {
  test('the program loads its own few files and no package before it knows the command', () => {
    const sources = loadedAtStart('dist/cli/main.js').flatMap(sourcesOf)
    expect(sources).toContain('src/cli/main.ts')
    expect(
      sources.filter(
        (path) => !/^src\/(cli\/(main|commands|output)|core\/errors|lib\/(shell|visible))\.ts$/.test(path),
      ),
    ).toEqual([])
  })

  test('--help lists every command', () => {
    const { status, stdout, stderr } = otAgent('--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const [name, entry] of Object.entries(commands))
      expect(stdout).toMatch(new RegExp(`^ +${name} +${entry.summary}$`, 'm'))
  })

  test('a reader that has gone is no reason to fail', () => {
    // The reader ends long before the program starts to write.
    const script = 'set -o pipefail; node bin/ot-agent.js --help | true; echo $?'
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
    expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' })
  })

  test('no command at all is a request for help', () => {
    expect(otAgent()).toMatchObject({ status: 0, stdout: otAgent('--help').stdout })
  })

  test('--version prints the version of package.json', () => {
    expect(otAgent('--version').stdout).toBe(`${JSON.parse(readFileSync('package.json', 'utf8')).version}\n`)
  })
})

describe('every command', () => {
  test.each(paths(commands))('ot-agent %s --help explains itself', (path) => {
    const { status, stdout, stderr } = otAgent(...path.split(' '), '--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain(`Usage: ot-agent ${path}`)
  })

  // In this process: every command prints what is thrown here in the same two lines.
  test.each(paths(commands))('ot-agent %s --no-such-option is refused in two lines', async (path) => {
    const words = path.split(' ')
    const { default: make } = await loadCommand(words)
    const refused = await runCommand(make, words, [...requiredOptions(make), '--no-such-option']).catch(
      (error: unknown) => error,
    )
    if (!(refused instanceof UserError)) throw new Error(`expected an error of the user, got ${refused}`)
    expect(refused.exitCode).toBe(2)
    expect(refused.message).toMatch(/^.*--no-such-option.*$/)
    expect(refused.hint).toMatch(/^.+$/)
  })

  test('what a command refuses is printed in two lines', () => {
    expectTwoLines(otAgent('jobs', 'list', '--no-such-option'), '--no-such-option')
  })
})

test('help COMMAND and COMMAND --help are the same, and version is --version', () => {
  expect(otAgent('help', 'jobs', 'show').stdout).toBe(otAgent('jobs', 'show', '--help').stdout)
  expect(otAgent('help', 'jobs').stdout).toBe(otAgent('jobs', '--help').stdout)
  expect(otAgent('jobs', 'help', 'show').stdout).toBe(otAgent('jobs', 'show', '--help').stdout)
  expect(otAgent('help').stdout).toBe(otAgent('--help').stdout)
  expect(otAgent('version').stdout).toBe(otAgent('--version').stdout)
})

test.each([
  [['job', 'list'], 'did you mean ./ot-agent jobs?'],
  [['jobs', 'lst'], 'did you mean ./ot-agent jobs list?'],
  [['launch', 'cluster', 'chek'], 'did you mean ./ot-agent launch cluster check?'],
  [['help', 'rnu'], 'did you mean ./ot-agent run?'],
  [['run', '--attemps', '2'], 'did you mean --n-attempts?'],
  [['agents', 'show', 'terminus2'], 'did you mean terminus-2?'],
  [['benchmarks', 'fetch', 'terminal-bench'], 'did you mean '],
])('what was meant by %j is suggested', (argv, hint) => {
  const { status, stderr } = otAgent(...argv)
  expect(stderr).toContain(`hint: `)
  expect(stderr).toContain(hint)
  expect(status).toBe(2)
})

test('a hint names the command as it can be typed here', () => {
  expect(otAgent('jobs', 'show', 'no-such').stderr).toContain('hint: ./ot-agent jobs list jobs shows')
})

test.each([
  ['no-such'],
  ['constructor'],
  ['__proto__'],
  ['tasks', 'toString'],
  ['jobs', 'no-such'],
  ['--no-such-option'],
])('ot-agent %s %s is refused in two lines', (...argv) => expectTwoLines(otAgent(...argv), argv.at(-1) as string))

function expectTwoLines({ status, stdout, stderr }: ReturnType<typeof otAgent>, named: string): void {
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
  expect(stderr).toContain(named)
}

function otAgent(...argv: string[]) {
  return spawnSync(process.execPath, ['bin/ot-agent.js', ...argv], { encoding: 'utf8' })
}

function paths(group: Group, before: readonly string[] = []): string[] {
  return Object.entries(group).flatMap(([name, entry]) =>
    'group' in entry ? paths(entry.group, [...before, name]) : [[...before, name].join(' ')],
  )
}

async function loadCommand(words: readonly string[], group: Group = commands): Promise<CommandFile> {
  const [name = '', ...rest] = words
  const entry = group[name]
  if (entry && 'group' in entry && rest.length > 0) return loadCommand(rest, entry.group)
  if (!entry || !('load' in entry)) throw new Error(`there is no command ${words.join(' ')}`)
  return entry.load()
}

/** A command complains first about a required option that is missing. */
function requiredOptions(make: MakeCommand): string[] {
  return make().options.flatMap(({ mandatory, long, argChoices }) =>
    mandatory ? [long ?? '', argChoices?.[0] ?? 'x'] : [],
  )
}

/** Every built file that loads together with `entry`: its static imports, theirs, and so on. */
function loadedAtStart(entry: string, seen = new Set<string>()): string[] {
  if (seen.has(entry)) return [...seen]
  seen.add(entry)
  for (const specifier of staticImports(entry)) {
    if (specifier.startsWith('.')) loadedAtStart(normalize(join(dirname(entry), specifier)), seen)
    else expect(specifier).toMatch(/^node:/)
  }
  return [...seen]
}

function staticImports(path: string): string[] {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext)
  return file.statements.flatMap((statement) => {
    const from =
      ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) ? statement.moduleSpecifier : undefined
    return from && ts.isStringLiteral(from) ? [from.text] : []
  })
}

/** The source files that a built file was made from, according to its source map. */
function sourcesOf(path: string): string[] {
  const map = JSON.parse(readFileSync(`${path}.map`, 'utf8')) as { sources: string[] }
  return map.sources.map((source) => normalize(join(dirname(path), source)))
}
