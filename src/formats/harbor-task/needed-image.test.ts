import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import type { Environment } from '../../core/task.ts'
import { findNeededImage } from './needed-image.ts'

let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'ot-needed-image-'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(scratch, 'environment-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return dir
}

const keyOf = async (files: Readonly<Record<string, string>>, changes: Partial<Environment> = {}) =>
  (await findNeededImage(plainEnvironment(await folder(files), changes))).key

test('equal folders need one image, wherever they lie and whenever they were written', async () => {
  const files = { Dockerfile: 'FROM debian\nCOPY . /app\n', 'src/a.txt': 'a' }
  const [first, second] = [await folder(files), await folder(files)]
  await utimes(join(second, 'src/a.txt'), 1, 1)
  const [one, other] = [await findNeededImage(plainEnvironment(first)), await findNeededImage(plainEnvironment(second))]
  expect(one).toEqual(other)
  expect(one).toMatchObject({ kind: 'dockerfile', digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
})

test('limits, network and variables do not change the image', async () => {
  const files = { Dockerfile: 'FROM debian\n' }
  const asked = { cpus: 8, memoryMb: 1, network: { mode: 'public' as const }, env: { A: '1' }, workdir: '/x' }
  expect(await keyOf(files, asked)).toBe(await keyOf(files))
})

test('a file’s content, name, mode and link target each make another image', async () => {
  const base = { Dockerfile: 'FROM debian\n', a: '1' }
  const executable = await folder(base)
  await chmod(join(executable, 'a'), 0o755)
  const linked = await Promise.all(
    ['x', 'y'].map(async (target) => {
      const dir = await folder(base)
      await symlink(target, join(dir, 'link'))
      return dir
    }),
  )
  const keys = [
    await keyOf(base),
    await keyOf({ ...base, a: '2' }),
    await keyOf({ Dockerfile: 'FROM debian\n', b: '1' }),
    await keyOf({ ...base, Dockerfile: 'FROM ubuntu\n' }),
    await keyOf({ ...base, 'docker-compose.yaml': 'services: {}\n' }),
    await keyOf(base, { dockerImage: 'debian:12' }),
    await keyOf(base, { dockerImage: 'debian:13' }),
    await keyOf({}),
    ...(await Promise.all(
      [executable, ...linked].map(async (dir) => (await findNeededImage(plainEnvironment(dir))).key),
    )),
  ]
  expect(new Set(keys).size).toBe(keys.length)
})

test('what .dockerignore leaves out does not count', async () => {
  const files = { Dockerfile: 'FROM debian\n', '.dockerignore': '*.log\n' }
  expect(await keyOf({ ...files, 'a.log': '1' })).toBe(await keyOf({ ...files, 'b.log': '2' }))
})

test('a prebuilt image is known by its name, even without a folder', async () => {
  const environment = plainEnvironment(join(scratch, 'not-there'), { dockerImage: 'debian:12' })
  expect(await findNeededImage(environment)).toMatchObject({ kind: 'prebuilt', name: 'debian:12' })
})

test('a file that leads out of the folder is refused', async () => {
  const dir = await folder({})
  await symlink('/etc/passwd', join(dir, 'Dockerfile'))
  await expect(findNeededImage(plainEnvironment(dir))).rejects.toMatchObject({ name: 'UserError' })
})

test('two different sets of files never need the same image', async () => {
  const name = fc.stringMatching(/^[a-c]{1,2}$/)
  const some = fc.dictionary(name, fc.stringMatching(/^[0-9:]{0,3}$/), { maxKeys: 3, noNullPrototype: true })
  const sorted = (files: object) => JSON.stringify(Object.entries(files).sort())
  await fc.assert(
    fc.asyncProperty(some, some, async (one, other) => {
      const dockerfile = { Dockerfile: 'FROM debian\n' }
      const same = (await keyOf({ ...dockerfile, ...one })) === (await keyOf({ ...dockerfile, ...other }))
      expect(same).toBe(sorted(one) === sorted(other))
    }),
    { numRuns: 40 },
  )
})
