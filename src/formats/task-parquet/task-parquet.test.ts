import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import { parquetWriteFile } from 'hyparquet-writer'
import { packTar } from 'modern-tar'
import { expect, test } from 'vitest'
import { arbitraryTree, fileName, readTree, type Tree, tempDir, writeTree } from '../../../test/trees.ts'
import { UserError } from '../../core/errors.ts'
import { packTasks } from './pack-tasks.ts'
import { openTaskRows } from './read-rows.ts'
import { unpackTasks } from './unpack-tasks.ts'

const task: Tree = {
  'task.toml': { content: '', mode: 0o644 },
  'tests/test.sh': { content: '#!/bin/sh', mode: 0o755 },
  environment: { dir: true },
}

/** Writes a parquet file as another program might. */
function writeForeign(
  file: string,
  rows: [unknown, unknown][],
  options: Partial<Parameters<typeof parquetWriteFile>[0]> = {},
): void {
  parquetWriteFile({
    filename: file,
    columnData: [
      { name: 'note', data: rows.map((_, i) => i), type: 'INT32' },
      { name: 'task_binary', data: rows.map(([, binary]) => binary), type: 'BYTE_ARRAY' },
      { name: 'path', data: rows.map(([path]) => path), type: 'STRING' },
    ],
    ...options,
  })
}

async function tarOf(files: Record<string, string>): Promise<Uint8Array> {
  return packTar(Object.entries(files).map(([name, body]) => ({ header: { name, size: body.length }, body })))
}

/** Expects a UserError with this text, and an unchanged directory. */
async function expectRefusal(unpack: () => Promise<unknown>, text: string, dir: string): Promise<void> {
  const before = await readTree(dir)
  const error = await unpack().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UserError)
  expect(String(error)).toContain(text)
  expect(await readTree(dir)).toEqual(before)
}

test('any folder of tasks comes back the way it went in', async () => {
  const dir = await tempDir()
  let run = 0
  const folder = fc.uniqueArray(fc.tuple(fileName, arbitraryTree), { maxLength: 6, selector: ([name]) => name })
  await fc.assert(
    fc.asyncProperty(folder, async (tasks) => {
      const at = join(dir, String(run++))
      for (const [name, tree] of tasks) await writeTree(join(at, 'in', name), tree)
      const packed = await packTasks(
        tasks.map(([name]) => ({ path: name, dir: join(at, 'in', name) })),
        join(at, 'tasks.parquet'),
      )
      const unpacked = await unpackTasks(join(at, 'tasks.parquet'), join(at, 'out'))
      expect([packed.tasks, unpacked.unpacked]).toEqual([tasks.length, tasks.length])
      await mkdir(join(at, 'in'), { recursive: true })
      expect(await readTree(join(at, 'out'))).toEqual(await readTree(join(at, 'in')))
    }),
    { numRuns: 25 },
  )
})

test('packs the same tasks into the same file', async () => {
  const dir = await tempDir()
  for (const copy of ['a', 'b']) {
    await writeTree(join(dir, copy, 't'), task)
    await packTasks([{ path: 't', dir: join(dir, copy, 't') }], join(dir, `${copy}.parquet`))
  }
  const [a, b] = await Promise.all(
    ['a', 'b'].map(async (copy) =>
      createHash('sha256')
        .update(await readFile(join(dir, `${copy}.parquet`)))
        .digest('hex'),
    ),
  )
  expect(a).toBe(b)
})

test('writes columns that a plain parquet reader sees as text and bytes', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 't'), task)
  await packTasks([{ path: 'set/t', dir: join(dir, 't') }], join(dir, 'x.parquet'))
  const bytes = await readFile(join(dir, 'x.parquet'))
  const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, utf8: false })
  expect(rows).toEqual([{ path: 'set/t', task_binary: expect.any(Uint8Array) }])
})

test('starts a new row group when one is full, and reads them all', async () => {
  const dir = await tempDir()
  const tasks = Array.from({ length: 8 }, (_, i) => ({ path: `t${i}`, dir: join(dir, 'in', `t${i}`) }))
  for (const { dir: at } of tasks)
    await writeTree(at, { data: { content: randomBytes(1_500_000).toString('latin1'), mode: 0o644 } })
  await packTasks(tasks, join(dir, 'x.parquet'))
  await using rows = await openTaskRows(join(dir, 'x.parquet'))
  expect(rows.rows).toBe(8)
  await unpackTasks(join(dir, 'x.parquet'), join(dir, 'out'))
  expect(await readTree(join(dir, 'out'))).toEqual(await readTree(join(dir, 'in')))
})

test('refuses to pack a link and leaves no file', async () => {
  const dir = await tempDir()
  await mkdir(join(dir, 't'))
  await symlink('/etc/passwd', join(dir, 't/l'))
  await expectRefusal(
    () => packTasks([{ path: 't', dir: join(dir, 't') }], join(dir, 'x.parquet')),
    '"l" is a link to "/etc/passwd"',
    dir,
  )
})

const codecs = { UNCOMPRESSED: undefined, SNAPPY: undefined, GZIP: (bytes: Uint8Array) => gzipSync(bytes) }
for (const [codec, compress] of Object.entries(codecs)) {
  test(`reads other people's files: extra columns, other order, nullable, one row group, ${codec}`, async () => {
    const dir = await tempDir()
    const plain = await tarOf({ './task.toml': 'x', './tests/': '', './tests/test.sh': 'y' })
    const rows = Array.from({ length: 300 }, (_, i): [string, Uint8Array] => [
      `./t${i}/`,
      i % 2 ? plain : gzipSync(plain),
    ])
    writeForeign(join(dir, 'x.parquet'), rows, {
      codec: codec as 'GZIP',
      pageSize: 4096,
      rowGroupSize: 1000,
      ...(compress ? { compressors: { [codec]: compress } } : {}),
    })
    expect(await unpackTasks(join(dir, 'x.parquet'), join(dir, 'out'))).toMatchObject({
      unpacked: 300,
      skipped: 0,
      replaced: 0,
    })
    expect(await readTree(join(dir, 'out/t299'))).toEqual({
      'task.toml': { content: 'x', mode: 0o644 },
      'tests/test.sh': { content: 'y', mode: 0o644 },
    })
  })
}

for (const variant of ['default', 'pages-v2', 'delta']) {
  test(`reads what pyarrow writes: ${variant}`, async () => {
    const dir = await tempDir()
    await unpackTasks(`test/fixtures/task-parquet/pyarrow-${variant}.parquet`, join(dir, 'out'))
    expect(await readdir(join(dir, 'out/set'))).toEqual(['task-0', 'task-1', 'task-2', 'task-3', 'task-4'])
    expect(await readTree(join(dir, 'out/set/task-3'))).toEqual({
      'instruction.md': { content: 'Do number 3.\n', mode: 0o644 },
      'tests/test.sh': { content: '#!/bin/sh\nexit 3\n', mode: 0o755 },
    })
  })
}

test('names a codec it cannot read', async () => {
  const dir = await tempDir()
  writeForeign(join(dir, 'x.parquet'), [['t', new Uint8Array(10)]], {
    codec: 'LZ4',
    compressors: { LZ4: (bytes) => bytes },
  })
  await expectRefusal(
    () => unpackTasks(join(dir, 'x.parquet'), join(dir, 'out')),
    'column path is compressed with LZ4',
    dir,
  )
})

const badPaths: Record<string, string> = {
  '../x': 'row 1: path "../x" is refused: its name climbs out',
  '/etc/x': 'row 1: path "/etc/x" is refused: its name is absolute',
  'a\\b': 'row 1: path "a\\\\b" is refused: its name holds a backslash',
  './': 'row 1: path "./" is refused: it names no directory',
  good: 'row 1 has the path "good", which row 0 claims',
  './good/': 'row 1 has the path "good", which row 0 claims',
  'good/inner': 'row 1 has the path "good/inner", which row 0 claims',
}
for (const [path, text] of Object.entries(badPaths)) {
  test(`refuses a row with the path ${JSON.stringify(path)} and writes nothing`, async () => {
    const dir = await tempDir()
    const tar = await tarOf({ x: 'x' })
    writeForeign(join(dir, 'x.parquet'), [
      ['good', tar],
      [path, tar],
    ])
    await expectRefusal(() => unpackTasks(join(dir, 'x.parquet'), join(dir, 'out')), text, dir)
  })
}

test('refuses a bad archive, names its row and writes nothing, not even the good rows', async () => {
  const dir = await tempDir()
  const bad: [Uint8Array, string][] = [
    [await packTar([{ header: { name: '../x', size: 0 } }]), 'its name climbs out'],
    [await packTar([{ header: { name: 'l', size: 0, type: 'symlink', linkname: '/etc' } }]), 'it is a link to "/etc"'],
    [Buffer.from('nonsense'), 'cut off'],
    [gzipSync(await tarOf({ x: 'x' })).subarray(0, 40), 'damaged or cut off'],
  ]
  for (const [binary, text] of bad) {
    const rows: [string, Uint8Array][] = [
      ['a', await tarOf({ x: 'x' })],
      ['b', binary],
    ]
    writeForeign(join(dir, 'x.parquet'), rows)
    await expectRefusal(() => unpackTasks(join(dir, 'x.parquet'), join(dir, 'out')), `row 1 ("b")`, dir)
    await expectRefusal(() => unpackTasks(join(dir, 'x.parquet'), join(dir, 'out')), text, dir)
    await mkdir(join(dir, 'there'), { recursive: true })
    await expectRefusal(() => unpackTasks(join(dir, 'x.parquet'), join(dir, 'there')), text, dir)
  }
})

test('refuses an empty cell and names its row', async () => {
  const dir = await tempDir()
  writeForeign(join(dir, 'x.parquet'), [
    ['a', await tarOf({ x: 'x' })],
    ['b', null],
  ])
  await expectRefusal(() => unpackTasks(join(dir, 'x.parquet'), join(dir, 'out')), 'row 1 has no task_binary', dir)
})

test('says what is wrong with a file that is missing, no parquet, cut off, or of other columns', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 't'), task)
  await packTasks([{ path: 't', dir: join(dir, 't') }], join(dir, 'good.parquet'))
  await writeFile(join(dir, 'text.parquet'), 'hello, this is text\n')
  await writeFile(join(dir, 'cut.parquet'), (await readFile(join(dir, 'good.parquet'))).subarray(0, -100))
  parquetWriteFile({
    filename: join(dir, 'other.parquet'),
    columnData: [
      { name: 'path', data: ['x'] },
      { name: 'text', data: ['y'] },
    ],
  })
  parquetWriteFile({
    filename: join(dir, 'typed.parquet'),
    columnData: [
      { name: 'path', data: ['x'] },
      { name: 'task_binary', data: [1] },
    ],
  })
  const expected = {
    'none.parquet': 'does not exist',
    'text.parquet': 'is not a parquet file',
    'cut.parquet': 'is not a parquet file',
    'other.parquet': 'has no column task_binary',
    'typed.parquet': 'column task_binary is of another type',
  }
  for (const [name, text] of Object.entries(expected))
    await expectRefusal(() => unpackTasks(join(dir, name), join(dir, 'out')), text, dir)
})

test('no damage to a file makes it write half a task or crash', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 'in/t'), task)
  await writeTree(join(dir, 'in/u'), { big: { content: 'x'.repeat(3000), mode: 0o644 } })
  await packTasks(
    ['t', 'u'].map((path) => ({ path, dir: join(dir, 'in', path) })),
    join(dir, 'good.parquet'),
  )
  const good = await readFile(join(dir, 'good.parquet'))
  const damage = fc.array(fc.tuple(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 })), {
    minLength: 1,
    maxLength: 6,
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(damage, async (changes) => {
      const bytes = Buffer.from(good)
      for (const [at, value] of changes) bytes[at] = value
      const at = join(dir, 'runs', String(run++))
      await mkdir(at, { recursive: true })
      await writeFile(join(at, 'x.parquet'), bytes)
      const error = await unpackTasks(join(at, 'x.parquet'), join(at, 'out')).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      if (error === null) return
      expect(error).toBeInstanceOf(UserError)
      expect(await readdir(at)).toEqual(['x.parquet'])
    }),
    { numRuns: 150 },
  )
})

test('stops, skips or replaces if a task already exists', async () => {
  const dir = await tempDir()
  const [file, out] = [join(dir, 'x.parquet'), join(dir, 'out')]
  await writeTree(out, { 'set/a/mine': { content: 'old', mode: 0o644 }, unrelated: { content: 'stays', mode: 0o644 } })
  const tar = await tarOf({ x: 'new' })
  writeForeign(file, [
    ['b', tar],
    ['set/a', tar],
    ['set/c', tar],
  ])
  await expectRefusal(() => unpackTasks(file, out), `${join(out, 'set/a')} exists already`, dir)
  expect(await unpackTasks(file, out, { onExist: 'skip' })).toMatchObject({ unpacked: 2, skipped: 1, replaced: 0 })
  const fresh = { content: 'new', mode: 0o644 }
  const stays = { content: 'stays', mode: 0o644 }
  expect(await readTree(out)).toEqual({
    'set/a/mine': { content: 'old', mode: 0o644 },
    unrelated: stays,
    'b/x': fresh,
    'set/c/x': fresh,
  })
  expect(await unpackTasks(file, out, { onExist: 'overwrite' })).toMatchObject({ unpacked: 3, skipped: 0, replaced: 3 })
  expect(await readTree(out)).toEqual({ unrelated: stays, 'b/x': fresh, 'set/a/x': fresh, 'set/c/x': fresh })
})

test('goes through no link that lies in the output directory, and replaces one that is a task', async () => {
  const dir = await tempDir()
  const [file, out] = [join(dir, 'x.parquet'), join(dir, 'out')]
  await mkdir(join(dir, 'elsewhere'))
  await mkdir(out)
  await symlink('../elsewhere', join(out, 'set'))
  const tar = await tarOf({ x: 'new' })
  writeForeign(file, [['set/a', tar]])
  await expectRefusal(
    () => unpackTasks(file, out, { onExist: 'overwrite' }),
    `${join(out, 'set')} is not a directory`,
    dir,
  )
  writeForeign(file, [['set', tar]])
  await unpackTasks(file, out, { onExist: 'overwrite' })
  expect(await readTree(dir)).toMatchObject({ elsewhere: { dir: true }, 'out/set/x': { content: 'new' } })
})
