import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AsRootInside, findSystemChanges, listTree } from './overlay-system.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ot-overlay-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const asRoot: AsRootInside = async ([program = '', ...args], input) => execFileSync(program, args, { input })

/** Writes files below a layer of an overlay. */
async function write(layer: string, ...paths: string[]): Promise<void> {
  await mkdir(join(dir, layer), { recursive: true })
  for (const path of paths) {
    await mkdir(dirname(join(dir, layer, path)), { recursive: true })
    await writeFile(join(dir, layer, path), '')
  }
}
const overlay = (...lowers: string[]) => ({
  target: '',
  upper: join(dir, 'upper'),
  lowers: lowers.map((lower) => join(dir, lower)),
})

test('a system file is found behind any number of other files, and too many are an error', async () => {
  await write('image', 'app/main.py')
  await write('upper', ...Array.from({ length: 30 }, (_, i) => `app/${i}`), 'app/zzz/conftest.py')
  const find = (limit: number) => findSystemChanges([overlay('image')], ['/usr/bin'], asRoot, limit)
  expect((await find(40)).map(({ path, change }) => [path, change])).toEqual([['/app/zzz/conftest.py', 'added']])
  await expect(find(30)).rejects.toMatchObject({ code: 'TooManyFilesError', boundary: 'agent', retryable: false })
})

test('a tree that another user lists is the same, and too long a list is an error', async () => {
  await write('image', 'app/main.py')
  await write('middle', 'app/old.py')
  await write('upper', 'app/a file', 'app/deep/er/conftest.py', 'app/\nd')
  const list = (limit: number) => listTree([overlay('middle', 'missing', 'image')], asRoot, limit)
  const tree = await list(100)
  expect([...tree.list(join(dir, 'upper/app'))].sort()).toEqual([
    ['\nd', 'other'],
    ['a file', 'other'],
    ['deep', 'dir'],
  ])
  expect(tree.list(join(dir, 'missing'))).toEqual([])
  const kinds = ['middle/app/old.py', 'middle/app', 'missing/app', 'image/app/main.py', 'upper/app/none']
  expect(kinds.map((path) => tree.kindOf(join(dir, path)))).toEqual(['other', 'dir', null, 'other', null])
  await expect(list(1)).rejects.toThrow('more than 1 files')
  // Files of the image are not the agent's.
  await write('image-layer', ...Array.from({ length: 200 }, (_, i) => `usr/share/some/long/name/of/a/file-${i}`))
  const large = await listTree([overlay('image-layer', 'image')], asRoot, 100)
  expect(large.list(join(dir, 'image-layer/usr/share/some/long/name/of/a'))).toHaveLength(200)
})
