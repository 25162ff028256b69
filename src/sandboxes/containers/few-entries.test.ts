import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { renderEntries } from './few-entries.ts'
import '../../../test/needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-few-entries-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Packs files the way a layer is packed. */
const pack = (paths: readonly string[], ...options: readonly string[]) =>
  execFileSync('tar', [
    '-C',
    '/',
    '--format=pax',
    '--pax-option=delete=atime,delete=ctime',
    '--numeric-owner',
    ...options,
    '-cf',
    '-',
    ...paths.map((path) => `.${path}`),
  ])
const look = (dir: string) => execFileSync('find', [dir, '-printf', '%p %y %m %U %G %T@ %s %l\n'], { encoding: 'utf8' })
const isRoot = process.getuid?.() === 0
const meta = isRoot ? {} : { skipReason: 'needs root, who may give files away' }

describe('a small archive as a script', { skip: !isRoot, meta }, () => {
  test('leaves what unpacking it leaves: bytes, links, owners, modes and times, whatever was there', async () => {
    const dir = join(scratch, 'made')
    const fill = () => {
      mkdirSync(join(dir, "it's/closed"), { recursive: true })
      writeFileSync(
        join(dir, 'bytes'),
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
      )
      writeFileSync(join(dir, "it's/-n"), '-n is no option')
      writeFileSync(join(dir, 'empty'), '')
      symlinkSync('-n', join(dir, "it's/link"))
      chmodSync(join(dir, "it's/-n"), 0o4755)
      execFileSync('chown', ['12:34', join(dir, 'bytes'), join(dir, "it's/closed")])
      chmodSync(join(dir, "it's/closed"), 0o1700)
      for (const name of ['bytes', "it's/closed", "it's", ''])
        utimesSync(join(dir, name), 1_000_000_000.25, 1_000_000_000.25)
    }
    fill()
    const before = look(dir)
    const script = await renderEntries(pack([dir]))
    const run = () => execFileSync('sh', ['-c', script ?? 'exit 9'])
    rmSync(dir, { recursive: true })
    run()
    expect(look(dir)).toBe(before)
    expect(execFileSync('cat', [join(dir, 'bytes')])).toEqual(Buffer.from(Array.from({ length: 256 }, (_, i) => i)))
    // A directory replaces a file; a link replaces a directory and a file.
    rmSync(dir, { recursive: true })
    mkdirSync(join(dir, 'bytes/full'), { recursive: true })
    symlinkSync(scratch, join(dir, "it's"))
    symlinkSync(join(scratch, 'never'), join(dir, 'empty'))
    run()
    expect(look(dir)).toBe(before)
    expect(execFileSync('ls', [scratch], { encoding: 'utf8' })).toBe('made\n')
  })

  test('is left to the engine where it is large, or has hard links, attributes or names that are no text', async () => {
    const dir = join(scratch, 'other')
    mkdirSync(dir)
    const [one, two] = [join(dir, 'one'), join(dir, 'two')]
    writeFileSync(one, 'x')
    expect(await renderEntries(pack([one]))).toContain(one)
    execFileSync('ln', [one, two])
    expect(await renderEntries(pack([dir]))).toBeNull()
    expect(await renderEntries(pack([one], '--pax-option=SCHILY.xattr.security.capability:=x'))).toBeNull()
    rmSync(two)
    for (let i = 0; i < 70; i++) writeFileSync(join(dir, `many-${i}`), '')
    expect(await renderEntries(pack([dir]))).toBeNull()
    writeFileSync(one, Buffer.alloc(40_000))
    expect(await renderEntries(pack([one]))).toBeNull()
    // The low bytes of these letters are dots and slashes: a name must never be read as other bytes than its own.
    const [hidden, target] = [
      join(dir, 'ĮĮįusrįbinįbash'),
      Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff])]),
    ]
    symlinkSync(target, hidden)
    expect(await renderEntries(pack([hidden]))).toBeNull()
    rmSync(hidden)
    symlinkSync('/etc', hidden)
    expect(await renderEntries(pack([hidden]))).toContain(hidden)
    const odd = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff])])
    writeFileSync(odd, '')
    expect(await renderEntries(execFileSync('sh', ['-c', `cd / && tar --format=pax -cf - .${dir}/[!a-z]*`]))).toBeNull()
  })
})
