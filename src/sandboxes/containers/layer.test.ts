import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readTar } from '../../lib/tar-read.ts'
import { openLayer } from './layer.ts'
import '../../../test/needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-layer-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
const meta = isRoot ? {} : { skipReason: 'needs root, who may read the files of every user' }

describe('a layer of a container', { skip: !isRoot, meta }, () => {
  test('is read without the engine: files, links, owners, and marks of what was removed', async () => {
    const dir = join(scratch, 'upper')
    mkdirSync(join(dir, 'etc'), { recursive: true })
    writeFileSync(join(dir, 'etc/made'), 'new')
    symlinkSync('/nowhere', join(dir, 'link'))
    execFileSync('chown', ['12:34', join(dir, 'etc/made')])
    execFileSync('mknod', [join(dir, 'gone'), 'c', '0', '0'])
    const layer = await openLayer(dir)
    if (layer === null) throw new Error('no layer')
    const found: Record<string, string> = {}
    for await (const entry of readTar(layer.read())) {
      found[entry.name.replace(/\/$/, '')] = entry.kind
      for await (const chunk of entry.body) found.text = Buffer.from(chunk).toString()
    }
    expect(found).toMatchObject({
      './etc': 'dir',
      './etc/made': 'file',
      './link': 'symlink',
      './gone': 'device',
      text: 'new',
    })
  })

  test('tells how deep its trees are', async () => {
    const dir = join(scratch, 'deep')
    mkdirSync(join(dir, 'a/b/c'), { recursive: true })
    const layer = await openLayer(dir)
    expect([await layer?.isDeeper(3), await layer?.isDeeper(4)]).toEqual([true, false])
  })

  test('is null where there is none, and a failure to read it is no empty layer', async () => {
    expect(await openLayer(null)).toBeNull()
    expect(await openLayer(join(scratch, 'absent'))).toBeNull()
    const dir = join(scratch, 'removed')
    mkdirSync(dir)
    const layer = await openLayer(dir)
    rmSync(dir, { recursive: true })
    await expect(layer?.isDeeper(1)).rejects.toThrow('cannot read the files of the container')
    await expect(layer?.read().next()).rejects.toThrow('cannot read the files of the container')
  })
})
