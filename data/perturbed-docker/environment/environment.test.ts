import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { RawRow, TaskDraft } from '../../../src/core/row.ts'
import { makeRandom } from '../../../src/lib/random.ts'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { findDockerfile } from './find-dockerfile.ts'
import environment from './index.ts'
import { targetOf } from './orders.ts'
import { installPackages, packagesFor } from './packages.ts'
import { perturb, perturbations } from './perturb.ts'
import { parsePackageIndex, searchPackages } from './search-packages.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object) => environment.make(environment.options.parse(options), context)
const fields = {
  instruction: 'Count the lines of `/app/data.txt` and write the number to `/app/count.txt`. Use sqlite if you like.',
  dockerfile: 'FROM debian:12-slim\n\nWORKDIR /app\nCOPY data.txt /app/data.txt\n',
  files: {
    'environment/data.txt': 'a\nb\nc\nd\n',
    'tests/test.sh': '#!/bin/sh\ngrep -qx 4 /app/count.txt && echo 1 > /logs/verifier/reward.txt\n',
    'solution/solve.sh': '#!/bin/sh\nwc -l < /app/data.txt > /app/count.txt\n',
  },
  keyword: 'sqlite',
}
const rows: RawRow[] = [
  { id: '1', source: 'test', fields },
  { id: '2', source: 'test', fields: { instruction: 'no Dockerfile' } },
]

stageLaws('makers/environment', { make: async () => make({}) as never, rows })

const task = {
  instruction: fields.instruction,
  dockerfile: fields.dockerfile,
  files: Object.fromEntries(Object.entries(fields.files).map(([path, data]) => [path, { data }])),
}
const apply = (name: string) => perturbations.find((known) => known.name === name)?.apply(task, makeRandom(1, 'x'))

test('a packed input is no longer there unpacked, and the solution unpacks it', () => {
  const made = apply('packed')
  expect(gunzipSync(made?.files['environment/data.txt.gz']?.data as Uint8Array).toString()).toBe('a\nb\nc\nd\n')
  expect(made?.files['environment/data.txt']).toBeUndefined()
  expect(made?.dockerfile).toContain('COPY data.txt.gz /app/data.txt.gz')
  expect(made?.files['solution/solve.sh']?.data).toBe(
    '#!/bin/sh\ngunzip -kf /app/data.txt.gz\nwc -l < /app/data.txt > /app/count.txt\n',
  )
  expect(made?.instruction).toContain('packed with gzip')
})

test('a task that is moved is moved in all its files', () => {
  const made = apply('elsewhere')
  for (const text of [
    made?.instruction,
    made?.dockerfile,
    made?.files['tests/test.sh']?.data,
    made?.files['solution/solve.sh']?.data,
  ]) {
    expect(text).not.toContain('/app')
    expect(text).toMatch(/\/(?:srv|opt|var\/lib)\/\w+-\d+/)
  }
})

test('decoys differ from the input and have unique names', () => {
  const made = apply('decoys')
  const added = Object.keys(made?.files ?? {}).filter((path) => !(path in task.files))
  expect(added).toHaveLength(1)
  expect(made?.files[added[0] ?? '']?.data).not.toBe('a\nb\nc\nd\n')
})

test('variants differ, and the hardest come first', () => {
  const variants = perturb(task, makeRandom(5, 'a'), 4)
  expect(variants).toHaveLength(4)
  expect(new Set(variants.map(({ perturbations: names }) => names.join())).size).toBe(4)
  const scores = variants.map(({ score }) => score)
  expect(scores).toEqual([...scores].sort((a, b) => b - a))
  expect(
    perturb({ instruction: 'x', dockerfile: 'FROM a\n', files: {} }, makeRandom(5, 'a'), 2).every(
      ({ perturbations: names }) => !names.includes('packed'),
    ),
  ).toBe(true)
})

test('words suggest packages', () => {
  expect(packagesFor('Load the JSON into a SQLite database, then draw a PNG image')).toEqual([
    'imagemagick',
    'sqlite3',
    'jq',
  ])
  expect(packagesFor('nothing special, digitally')).toEqual([])
  expect(installPackages('FROM a\nWORKDIR /b\n', ['jq', 'git'])).toBe(
    'FROM a\nRUN apt-get update && apt-get install -y --no-install-recommends git jq && rm -rf /var/lib/apt/lists/*\nWORKDIR /b\n',
  )
})

// An excerpt from Debian 12's own index.
const index = `Package: qpdf
Version: 11.3.0-1+deb12u1
Description: tools for transforming and inspecting PDF files
Tag: interface::commandline, role::program, works-with-format::pdf

Package: libqpdf29
Version: 11.3.0-1+deb12u1
Description: runtime library for PDF transformation/inspection software
Tag: role::shared-lib

Package: pdftk
Version: 2.02-5+b1
Description: transitional package for pdftk, a tool for manipulating PDF documents
Tag: implemented-in::c++, implemented-in::java, interface::commandline,
 role::program, scope::utility, use::converting, use::editing,
 works-with-format::pdf, works-with::text

Package: sqlite3
Version: 3.40.1-2+deb12u2
Description: Command line interface for SQLite 3
Tag: devel::lang:sql, devel::library, implemented-in::c,
 interface::commandline, network::client, role::devel-lib,
 role::program, works-with::db
`

test('packages are found by keyword in a Debian index, command-line programs only', async () => {
  const packages = parsePackageIndex(index)
  expect(packages.map(({ name }) => name)).toEqual(['qpdf', 'pdftk', 'sqlite3'])
  expect(searchPackages('PDF', packages)).toEqual(['qpdf', 'pdftk'])
  expect(searchPackages('inspecting pdf', packages)).toEqual(['qpdf'])
  expect(searchPackages('sqlite3', packages, 1)).toEqual(['sqlite3'])
  expect(searchPackages('fortran', packages)).toEqual([])
  expect(searchPackages('-', packages)).toEqual([])
  expect(parsePackageIndex('{"some": "thing else"}')).toEqual([])
  const run = (keyword: string) =>
    runStage(make({ strategy: 'packages', packages }) as never, [
      { id: '1', source: 'test', fields: { ...fields, keyword } } as RawRow,
    ])
  const [made] = (await run('pdf')) as TaskDraft[]
  expect(made?.files['environment/Dockerfile']?.data).toContain('--no-install-recommends pdftk qpdf &&')
  expect(await run('fortran')).toMatchObject([{ drop: 'no-package-found' }])
})

test('a published Dockerfile is chosen by name, description, text and stars; too simple ones never', () => {
  const text = 'FROM debian:12\nRUN apt-get install -y sqlite3\nWORKDIR /x\n'
  const known = [
    { repo: 'a/other', description: '', stars: 9000, text: 'FROM x\nRUN y\nENV z=1\n' },
    { repo: 'a/simple-sqlite', description: 'sqlite', stars: 900, text: 'FROM sqlite\nCMD sh\n' },
    { repo: 'a/tool', description: 'speaks sqlite', stars: 10, text },
    { repo: 'b/sqlite', description: '', stars: 20, text },
  ]
  expect(findDockerfile('SQLite', known)?.repo).toBe('b/sqlite')
  const needs = { repo: 'a/sqlite', description: '', stars: 900, text: `${text}COPY . /src\n` }
  const stages = { ...needs, text: `${text}FROM scratch\nCOPY --from=0 /x /y\n` }
  expect(findDockerfile('sqlite', [needs, stages, ...known])?.repo).toBe('b/sqlite')
  expect(findDockerfile('log', [{ ...needs, text: 'FROM a\nRUN login\nENV CATALOG=1\n' }])).toBeNull()
  expect(findDockerfile('fortran', known)).toBeNull()
})

test('each strategy gives the task another base, and its own files stay', async () => {
  const dockerfileOf = async (options: object) => {
    const [made] = await runStage(make(options) as never, rows.slice(0, 1))
    return String((made as TaskDraft).files['environment/Dockerfile']?.data)
  }
  expect(await dockerfileOf({ strategy: 'as-given' })).toBe(fields.dockerfile)
  expect(await dockerfileOf({ strategy: 'packages' })).toContain('install -y --no-install-recommends sqlite3')
  const published = [
    {
      ...{ repo: 'b/sqlite', stars: 20 },
      text: 'FROM debian:12\n# the tool\nRUN apt-get install -y \\\n  # small\n  sqlite3\nVOLUME /app\nCMD [ "x", \\\n  "y" ]\n',
    },
  ]
  expect(await dockerfileOf({ strategy: 'search', published })).toBe(
    'FROM debian:12\nRUN apt-get install -y \\\n  sqlite3\n\nWORKDIR /app\nCOPY data.txt /app/data.txt\n',
  )
  expect(await runStage(make({ strategy: 'search' }) as never, rows.slice(0, 1))).toMatchObject([
    { drop: 'no-dockerfile-found' },
  ])
  await expect(runStage(make({ strategy: 'model' }) as never, rows.slice(0, 1))).rejects.toMatchObject({
    name: 'UserError',
  })
})

test.each([
  ['COPY data.txt /app/data.txt\n', '/app/data.txt'],
  ['WORKDIR /home/user\nCOPY data.txt ./\n', '/home/user/data.txt'],
  ['WORKDIR /srv\nCOPY --chown=1:1 data.txt other.txt in/\n', '/srv/in/data.txt'],
  ['WORKDIR /srv\nCOPY . .\n', '/srv/data.txt'],
  ['COPY --from=build data.txt /x/\n', undefined],
  ['RUN <<EOF\nCOPY data.txt /no\nEOF\nCOPY data.txt /yes\n', '/yes'],
])('where an input lies is read from the Dockerfile: %s', (orders, path) => {
  expect(targetOf(`FROM debian\n${orders}`, 'data.txt')?.path).toBe(path)
})

test('a perturbation is left out where it would change the task or make it unfair', () => {
  const random = () => makeRandom(1, 'x')
  const applied = (name: string, given: Partial<typeof task>) =>
    perturbations.find((known) => known.name === name)?.apply({ ...task, ...given }, random()) ?? null
  expect(
    applied('decoys', { instruction: 'Count the lines of all files of `/app`, such as `/app/data.txt`.' }),
  ).toBeNull()
  expect(applied('decoys', { instruction: 'Count the lines of `/app/*.txt`; `data.txt` is one.' })).toBeNull()
  expect(applied('decoys', { dockerfile: 'FROM a\nWORKDIR /home/user\nCOPY data.txt .\n' })?.dockerfile).toMatch(
    /\nCOPY (data[\w.-]+) \/home\/user\/\1\n$/,
  )
  const reading = { ...task.files, 'tests/test.sh': { data: 'wc -l < /app/data.txt\n' } }
  expect(applied('packed', { files: reading })).toBeNull()
  expect(applied('packed', { dockerfile: `${task.dockerfile}RUN chmod 0444 /app/data.txt\n` })).toBeNull()
  expect(applied('elsewhere', { instruction: 'Write the number to count.txt.' })).toBeNull()
  expect(applied('read-only', { instruction: 'Fix the numbers in `/app/data.txt`.' })).toBeNull()
  const program = { 'environment/data.py': { data: 'a\nb\nc\nd\n' } }
  const copied = { dockerfile: 'FROM a\nCOPY data.py /app/data.py\n', instruction: 'Run `/app/data.py`.' }
  expect(applied('decoys', { ...copied, files: program })).toBeNull()
  const nested = { 'environment/in/data.txt': { data: 'a\nb\nc\nd\n' } }
  expect(
    applied('decoys', { dockerfile: 'FROM a\nCOPY in/data.txt /x/data.txt\n', files: nested })?.dockerfile,
  ).toMatch(/\nCOPY in\/(data[\w.-]+) \/x\/\1\n$/)
  expect(applied('elsewhere', { instruction: 'Write to count.txt in /app.' })?.dockerfile).not.toContain('WORKDIR /\n')
})

test('a variant that only distracts is dropped', () => {
  expect(perturb({ instruction: 'x', dockerfile: 'FROM a\n', files: {} }, makeRandom(5, 'a'), 2)).toEqual([])
})
