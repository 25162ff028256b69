import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { packTar, type TarEntry } from 'modern-tar'
import { expect, test } from 'vitest'
import { readTree, type Tree, tempDir, writeTree } from '../../test/trees.ts'
import { type ExtractOptions, extractEntries, extractTar } from './extract.ts'
import { tarDir } from './tar.ts'
import { ArchiveError } from './tar-format.ts'

const inside: ExtractOptions = { links: 'inside', onRefused: 'drop' }

function entry(name: string, header: Partial<TarEntry['header']> = {}, body = ''): TarEntry {
  return { header: { name, size: body.length, mtime: new Date(0), ...header }, body }
}

/** Extracts entries into a fresh directory; returns its content and what was refused. */
async function extract(entries: TarEntry[], options: ExtractOptions = {}) {
  const dir = await tempDir()
  const extracted = await extractTar(await packTar(entries), join(dir, 'out'), options)
  return { tree: await readTree(join(dir, 'out')), refused: extracted.refused.map(({ name }) => name) }
}

const hostile: Record<string, [TarEntry[], string]> = {
  'an absolute name': [[entry('/etc/cron.d/x')], 'its name is absolute'],
  'a climbing name': [[entry('a/../../x')], 'its name climbs out'],
  'a climbing name that would stay inside': [[entry('a/../x')], 'its name climbs out'],
  'a bare climb': [[entry('..', { type: 'directory' })], 'its name climbs out'],
  'a name with a NUL': [[entry('x', { pax: { path: 'a\0b' } })], 'its name holds a NUL'],
  'a name with a backslash': [[entry('..\\x')], 'its name holds a backslash'],
  'a part of 256 bytes': [[entry(`${'é'.repeat(128)}`)], 'longer than 255 bytes'],
  'a path of 5,000 bytes': [[entry(Array(50).fill('d'.repeat(99)).join('/'))], 'its path is too long'],
  'a file named like the directory': [[entry('./.')], 'its name is the directory itself'],
  'a link': [[entry('l', { type: 'symlink', linkname: 'x' })], 'it is a link to "x"'],
  'a hard link': [[entry('x'), entry('l', { type: 'link', linkname: 'x' })], 'it is a link to "x"'],
  'a character device': [[entry('null', { type: 'character-device' })], 'it is a device'],
  'a block device': [[entry('sda', { type: 'block-device' })], 'it is a device'],
  'a pipe': [[entry('p', { type: 'fifo' })], 'it is a fifo'],
  'a sparse file': [[entry('s', { pax: { 'GNU.sparse.major': '1' } })], 'of an unknown kind'],
  'a name twice': [[entry('x', {}, '1'), entry('./x', {}, '2')], 'holds that name twice'],
  'a directory over a file': [[entry('x'), entry('x/', { type: 'directory' })], 'holds that name twice'],
  'a file below a file': [[entry('x'), entry('x/y')], '"x" is a file, not a directory'],
}

for (const [what, [entries, reason]] of Object.entries(hostile)) {
  test(`refuses ${what} and leaves nothing behind`, async () => {
    const dir = await tempDir()
    const archive = await packTar([entry('good', {}, 'good'), ...entries])
    const extraction = extractTar(archive, join(dir, 'out'))
    await expect(extraction).rejects.toThrow(ArchiveError)
    await expect(extraction).rejects.toThrow(reason)
    expect(await readdir(dir)).toEqual([])
  })

  test(`drops ${what} and keeps the rest when told to`, async () => {
    const { tree } = await extract([entry('good', {}, 'good'), ...entries, entry('also', {}, '!')], {
      onRefused: 'drop',
    })
    expect(tree).toMatchObject({ good: { content: 'good' }, also: { content: '!' } })
  })
}

test('keeps links that stay inside and drops those that leave, by whatever route', async () => {
  const link = (name: string, linkname: string) => entry(name, { type: 'symlink', linkname })
  const { tree, refused } = await extract(
    [
      entry('a/b/file', {}, 'x'),
      link('a/near', 'b/file'),
      link('a/b/up', '../..'),
      link('dangling', 'a/missing'),
      link('absolute', '/etc/passwd'),
      link('climbs', '../x'),
      link('a/b/climbs', '../../../x'),
      link('through', 'a/b/up/../x'),
      link('circle', 'circle'),
      link('empty', ''),
    ],
    inside,
  )
  expect(refused.sort()).toEqual(['a/b/climbs', 'absolute', 'circle', 'climbs', 'empty', 'through'])
  expect(tree).toEqual({
    'a/b/file': { content: 'x', mode: 0o644 },
    'a/near': { link: 'b/file' },
    'a/b/up': { link: '../..' },
    dangling: { link: 'a/missing' },
  })
})

test('never writes through a link, not even one that stays inside', async () => {
  const { tree, refused } = await extract(
    [
      entry('real/', { type: 'directory' }),
      entry('l', { type: 'symlink', linkname: 'real' }),
      entry('l/x', {}, 'x'),
      entry('l', {}, 'y'),
    ],
    inside,
  )
  expect(refused).toEqual(['l/x', 'l'])
  expect(tree).toEqual({ real: { dir: true }, l: { link: 'real' } })
})

test('gives a hard link the content of the file it names, and drops one that names anything else', async () => {
  const { tree, refused } = await extract(
    [
      entry('a', { mode: 0o755 }, 'body'),
      entry('d/b', { type: 'link', linkname: './a' }),
      entry('out', { type: 'link', linkname: '../../etc/passwd' }),
      entry('later', { type: 'link', linkname: 'z' }),
      entry('z', {}, 'z'),
    ],
    inside,
  )
  expect(refused).toEqual(['out', 'later'])
  expect(tree).toMatchObject({
    a: { content: 'body', mode: 0o755 },
    'd/b': { content: 'body', mode: 0o755 },
    z: { content: 'z' },
  })
})

test('an archive whose names are too long in total is refused', async () => {
  const [name, chars] = ['d'.repeat(200), 64 * 2 ** 20]
  const entries = async function* () {
    for (let i = 0; i < chars / 2000 + 1; i++) {
      const plain = { mode: 0o644, size: 0, garbledName: false, garbledLink: false, body: Readable.from([]) }
      yield { ...plain, name: `${`${name}/`.repeat(10)}${i}`, kind: 'fifo', link: '' } as const
    }
  }
  const target = join(await tempDir(), 'out')
  await expect(extractEntries(entries(), target, inside)).rejects.toThrow(`more than ${chars} characters in names`)
})

test('links with thousands of steps each do not slow it down', async () => {
  const long = Array.from({ length: 3000 }, (_, i) => entry(`l${i}`, { type: 'symlink', linkname: 'a/'.repeat(2000) }))
  const deep = 'a/'.repeat(1000)
  const short = entry(`${deep}short`, { type: 'symlink', linkname: 'f' })
  const { tree, refused } = await extract([entry(`${deep}f`, {}, 'x'), short, ...long], inside)
  expect(tree).toMatchObject({ [`${deep}f`]: { content: 'x' }, [`${deep}short`]: { link: 'f' } })
  expect(refused).toContain('l999')
})

test('no set of links leads out of the tree once it is on disk', async () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
  const target = fc
    .array(fc.oneof(name, fc.constant('..'), fc.constant('.')), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join('/'))
  const dir = await tempDir()
  await writeFile(join(dir, 'outside'), '')
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(path, target), { maxLength: 8 }), async (links) => {
      const at = join(dir, String(run++))
      const entries = links.map(([from, to]) => entry(from, { type: 'symlink', linkname: to }))
      await extractTar(await packTar([entry('a/b/c/', { type: 'directory' }), ...entries]), at, inside)
      // `realpath` is the kernel's own answer; -m follows links through parts that do not exist.
      const found = Object.entries(await readTree(at)).filter(([, node]) => 'link' in node)
      if (found.length === 0) return
      const real = execFileSync('realpath', ['-m', ...found.map(([from]) => join(at, from))], { encoding: 'utf8' })
      for (const line of real.trim().split('\n')) expect(`${line}/`.startsWith(`${at}/`)).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test('stops at the limit of bytes before it writes them, also for a small gzip of a huge file', async () => {
  const dir = await tempDir()
  const bomb = gzipSync(await packTar([entry('zeros', {}, '\0'.repeat(5_000_000))]))
  expect(bomb.length).toBeLessThan(20_000)
  await expect(extractTar(bomb, join(dir, 'out'), { limitBytes: 1_000_000, onRefused: 'drop' })).rejects.toThrow(
    'more than 1000000 bytes',
  )
  expect(await readdir(dir)).toEqual([])
})

test('stops at the limit of entries and counts a hard link as the file it repeats', async () => {
  const many = Array.from({ length: 11 }, (_, i) => entry(`f${i}`))
  await expect(extract(many, { limitEntries: 10 })).rejects.toThrow('more than 10 entries')
  const links = Array.from({ length: 10 }, (_, i) => entry(`l${i}`, { type: 'link', linkname: 'f' }))
  await expect(extract([entry('f', {}, 'x'.repeat(100)), ...links], { ...inside, limitBytes: 1000 })).rejects.toThrow(
    'more than 1000 bytes',
  )
})

test('says so when an archive is cut off, wherever the cut is', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 'in'), {
    a: { content: 'a'.repeat(700), mode: 0o644 },
    [`b/${'c'.repeat(150)}`]: { content: 'b', mode: 0o644 },
  })
  const parts: Uint8Array[] = []
  for await (const chunk of tarDir(join(dir, 'in'))) parts.push(chunk)
  const whole = Buffer.concat(parts)
  const end = whole.length - 1024
  for (let cut = 0; cut <= end; cut += 137) {
    await expect(extractTar(whole.subarray(0, cut), join(dir, 'out'))).rejects.toThrow('the archive is cut off inside')
    await expect(extractTar(gzipSync(whole).subarray(0, -9), join(dir, 'out'))).rejects.toThrow('damaged or cut off')
  }
  expect(await readdir(dir)).toEqual(['in'])
})

test('no bytes whatsoever make it write outside or end in anything but an archive error', async () => {
  const dir = await tempDir()
  const valid = await packTar([
    entry('a/b', {}, 'x'),
    entry(`${'n'.repeat(120)}é`, {}, 'y'),
    entry('l', { type: 'symlink', linkname: 'a' }),
  ])
  const damage = fc.array(fc.tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 })), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(damage, async (changes) => {
      const bytes = Uint8Array.from(valid)
      for (const [at, value] of changes) bytes[at] = value
      const target = join(dir, 'out', randomBytes(6).toString('hex'))
      await extractTar(bytes, target, inside).catch((error) => expect(error).toBeInstanceOf(ArchiveError))
    }),
    { numRuns: 300 },
  )
  expect((await readdir(dir)).filter((name) => name !== 'out')).toEqual([])
})

test('refuses text, an empty file and a wrong checksum in words', async () => {
  const dir = await tempDir()
  await expect(extractTar(Buffer.from('hello\n'.repeat(200)), join(dir, 'x'))).rejects.toThrow('not a tar archive')
  await expect(extractTar(new Uint8Array(), join(dir, 'x'))).rejects.toThrow('cut off inside a header')
  expect(await readdir(dir)).toEqual([])
})

test('reads what GNU tar writes: every format, old times, hard links, names that are not UTF-8', async () => {
  const dir = await tempDir()
  const long = `${'x'.repeat(120)}/${'y'.repeat(240)}`
  await writeTree(join(dir, 'in'), {
    [long]: { content: 'long', mode: 0o644 },
    'bin/run': { content: '#!', mode: 0o755 },
    'a/b': { dir: true },
  })
  await symlink('run', join(dir, 'in/bin/also'))
  execFileSync('ln', [join(dir, 'in/bin/run'), join(dir, 'in/bin/twin')])
  execFileSync('touch', ['-d', '1901-02-03', join(dir, 'in/bin/run')])
  execFileSync('bash', ['-c', `touch "$1"/$'caf\\xe9'`, 'bash', join(dir, 'in')])
  for (const format of ['gnu', 'pax']) {
    const tar = execFileSync('tar', ['-C', join(dir, 'in'), `--format=${format}`, '-cf', '-', '.'], { maxBuffer: 1e8 })
    const extracted = await extractTar(tar, join(dir, format), inside)
    expect(extracted.refused).toEqual([{ name: './café', reason: 'its name is not UTF-8' }])
    expect(await readTree(join(dir, format))).toEqual({
      [long]: { content: 'long', mode: 0o644 },
      'bin/run': { content: '#!', mode: 0o755 },
      'bin/twin': { content: '#!', mode: 0o755 },
      'bin/also': { link: 'run' },
      'a/b': { dir: true },
    } satisfies Tree)
  }
})

test('reduces modes to executable or not, or keeps them less the set-id bits', async () => {
  const entries = [
    entry('tool', { mode: 0o6750 }),
    entry('text', { mode: 0o600 }),
    entry('d/', { type: 'directory', mode: 0o555 }),
  ]
  expect((await extract(entries)).tree).toMatchObject({ tool: { mode: 0o755 }, text: { mode: 0o644 } })
  const dir = await tempDir()
  await extractTar(await packTar(entries), join(dir, 'out'), { modes: 'kept' })
  const modes = await Promise.all(
    ['tool', 'text', 'd'].map(async (name) => (await stat(join(dir, 'out', name))).mode & 0o7777),
  )
  expect(modes).toEqual([0o750, 0o600, 0o755])
})

test('keeps backslashes where they are plain letters', async () => {
  expect((await extract([entry('dev-disk\\x2d1')], { backslashes: 'keep' })).tree).toHaveProperty(['dev-disk\\x2d1'])
})

test('fills an empty directory and refuses one that holds something', async () => {
  const dir = await tempDir()
  const archive = await packTar([entry('x', {}, 'new')])
  await mkdir(join(dir, 'empty'))
  await extractTar(archive, join(dir, 'empty'))
  expect(await readFile(join(dir, 'empty/x'), 'utf8')).toBe('new')
  await expect(extractTar(archive, join(dir, 'empty'))).rejects.toThrow('is not an empty directory')
})

test('merges into a non-empty directory when told to, and never writes through its links', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 'out'), {
    'a/old': { content: 'old', mode: 0o644 },
    'a/both': { content: 'old', mode: 0o644 },
  })
  await writeTree(join(dir, 'elsewhere'), {})
  await symlink('../elsewhere', join(dir, 'out/d'))
  await extractTar(await packTar([entry('a/both', {}, 'new'), entry('d/x', {}, 'x')]), join(dir, 'out'), {
    existing: 'merge',
  })
  expect(await readTree(dir)).toEqual({
    'out/a/old': { content: 'old', mode: 0o644 },
    'out/a/both': { content: 'new', mode: 0o644 },
    'out/d/x': { content: 'x', mode: 0o644 },
    elsewhere: { dir: true },
  })
})

test('passes a large file through without holding it', async () => {
  const dir = await tempDir()
  const size = 300 << 20
  async function* source() {
    const head = (await packTar([{ header: { name: 'big', size: 0 } }])).subarray(0, 512)
    const whole = Buffer.from(head)
    whole.write(size.toString(8).padStart(11, '0'), 124, 'latin1')
    whole.write('        ', 148, 'latin1')
    whole.write(
      `${whole
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
      'latin1',
    )
    yield whole
    const block = new Uint8Array(1 << 20)
    for (let sent = 0; sent < size; sent += block.length) yield block
    yield new Uint8Array(1024)
  }
  const before = process.memoryUsage().rss
  let peak = 0
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
  const extracted = await extractTar(source(), join(dir, 'out'))
  clearInterval(timer)
  expect(extracted.bytes).toBe(size)
  expect(peak - before).toBeLessThan(150 << 20)
})

test('stops in the middle of a file when it is told to', async () => {
  const dir = await tempDir()
  const stop = new AbortController()
  const archive = await packTar([entry('x', {}, 'x'.repeat(2000))])
  async function* source() {
    yield archive.subarray(0, 1000)
    stop.abort()
    yield archive.subarray(1000)
  }
  await expect(extractTar(source(), join(dir, 'out'), { signal: stop.signal })).rejects.toThrow('aborted')
  expect(await readdir(dir)).toEqual([])
})
