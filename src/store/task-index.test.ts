import { appendFile, chmod, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTask } from '../../test/make-task.ts'
import { tempDir } from '../../test/trees.ts'
import { digestTask } from '../formats/harbor-task/digests.ts'
import { loadTask } from '../formats/harbor-task/load.ts'
import { TaskIndex, taskIndexName } from './task-index.ts'

/** File system clocks tick every few milliseconds; files changed within the current tick are not indexed. */
const settleMs = 20
const settle = () => sleep(2 * settleMs)

/** The digests of a task, read through a job's index. */
async function digestBy(job: string, task: string) {
  const index = TaskIndex.of(job, settleMs)
  const read = await index?.read(task, (digest) => loadTask(task, { ...(digest && { digest }), allowNoTests: true }))
  await index?.save()
  return read?.digests
}

/** Gives every task of an index different digests, to tell answers from the index from answers from files. */
async function forge(job: string): Promise<void> {
  const path = join(job, taskIndexName)
  const [, text = ''] = (await readFile(path, 'utf8')).split('\t')
  const forged = text.trimEnd().replaceAll(/"content":"[0-9a-f]+"/g, '"content":"forged"')
  await writeFile(path, `${crc32(forged, 2).toString(16)}\t${forged}\n`)
}

async function isAnswered(job: string, task: string): Promise<boolean> {
  return (await digestBy(job, task))?.content === 'forged'
}

/** What can happen to a task between two reads, chosen by a number. */
const changes: Readonly<Record<string, (task: string, n: number) => Promise<unknown>>> = {
  'change a file': (task, n) => appendFile(join(task, fileOf(n)), String(n)),
  'change a file and keep its length and time': async (task, n) => {
    const path = join(task, fileOf(n))
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace(/.$/s, String(n % 10)))
    await utimes(path, 1, 1)
  },
  'give it another name': (task, n) =>
    writeFile(join(task, 'task.toml'), `schema_version = "1.2"\n[task]\nname = "org/name-${n}"\n`),
  'add a file': (task, n) => writeFile(join(task, n % 2 ? 'tests' : 'environment', `new-${n}`), 'x'),
  'add a directory with a file': async (task, n) => {
    await mkdir(join(task, `solution/dir-${n}`), { recursive: true })
    await writeFile(join(task, `solution/dir-${n}/file`), '')
  },
  'remove a file': (task, n) => rm(join(task, fileOf(n)), { force: true }),
  'swap two files': async (task, n) => {
    const [one, two] = [join(task, fileOf(n)), join(task, fileOf(n + 1))]
    await rename(one, `${one}.new`).catch(() => {})
    await rename(two, one).catch(() => {})
    await rename(`${one}.new`, two).catch(() => {})
  },
  'put a link in the place of a file': async (task, n) => {
    await rm(join(task, fileOf(n)), { force: true })
    await symlink(join(task, 'instruction.md'), join(task, fileOf(n)))
  },
  'change a mode': (task, n) => chmod(join(task, 'instruction.md'), n % 2 ? 0o600 : 0o644).catch(() => {}),
  'put another task in its place': async (task, n) => {
    const other = await makeTask({ 'tests/extra': String(n) })
    await rename(task, `${task}-${n}-away`)
    await rename(other, task)
  },
}
const fileOf = (n: number) => ['tests/test.sh', 'solution/solve.sh', 'environment/Dockerfile'][n % 3] ?? ''

test('whatever happens to a task, its name and digests are those of its files', async () => {
  const step = fc.record({
    kind: fc.constantFrom(...Object.keys(changes)),
    n: fc.nat({ max: 99 }),
    waits: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      const [job, task] = [await tempDir(), await makeTask()]
      await settle()
      await digestBy(job, task)
      for (const { kind, n, waits } of steps) {
        await changes[kind]?.(task, n)
        if (waits) await settle()
        const known = TaskIndex.of(job, settleMs)?.known(task) ?? null
        const { name, dir, digests } = await loadTask(task, { allowNoTests: true })
        expect([null, { name, dir, digests }]).toContainEqual(known)
        expect(await digestBy(job, task)).toEqual(await digestTask(task))
      }
    }),
    { numRuns: 20 },
  )
})

test('answers for a task that has not changed, and for no other', async () => {
  const [job, one, two] = [await tempDir(), await makeTask({}, 'one'), await makeTask({}, 'two')]
  await settle()
  await digestBy(job, one)
  await digestBy(job, two)
  await forge(job)
  expect([await isAnswered(job, one), await isAnswered(job, two)]).toEqual([true, true])
  await appendFile(join(two, 'tests/test.sh'), '#')
  expect([await isAnswered(job, one), await isAnswered(job, two)]).toEqual([true, false])
})

test('knows the name of a task that has not changed, and of no other', async () => {
  const [job, one, two] = [await tempDir(), await makeTask({}, 'one'), await makeTask({}, 'two')]
  await settle()
  await digestBy(job, one)
  await digestBy(job, two)
  await rm(join(two, 'solution/solve.sh'))
  const index = TaskIndex.of(job, settleMs)
  expect(index?.known(one)).toEqual({ name: 'one', dir: one, digests: await digestTask(one) })
  expect([index?.known(two), index?.known(join(job, 'three'))]).toEqual([null, null])
})

test('a task that changes while it is read is read again', async () => {
  const [job, task] = [await tempDir(), await makeTask()]
  await settle()
  const index = TaskIndex.of(job, settleMs)
  await index?.read(task, async (digest) => {
    const read = await loadTask(task, digest ? { digest } : {})
    await changes['give it another name']?.(task, 1)
    return read
  })
  await index?.save()
  expect(TaskIndex.of(job, settleMs)?.known(task)).toBeNull()
})

test('a known task that changes while it is read has its new digests', async () => {
  const [job, task] = [await tempDir(), await makeTask()]
  await settle()
  const before = await digestBy(job, task)
  let times = 0
  const read = await TaskIndex.of(job, settleMs)?.read(task, async (digest) => {
    if (times++ === 0) await changes['change a file']?.(task, 1)
    return loadTask(task, { ...(digest && { digest }), allowNoTests: true })
  })
  expect(read?.digests).toEqual(await digestTask(task))
  expect([read?.digests.content === before?.content, times]).toEqual([false, 2])
})

test('a missing task is left to the code that reads tasks', async () => {
  const missing = join(await tempDir(), 'none')
  const index = TaskIndex.of(await tempDir(), settleMs)
  await expect(index?.read(missing, () => loadTask(missing, {}))).rejects.toThrow(
    `${missing}: expected a task directory, found nothing`,
  )
})

test('an index that names a task in another way is corrected', async () => {
  const [job, task] = [await tempDir(), await makeTask({}, 'right')]
  await settle()
  await digestBy(job, task)
  const [, text = ''] = (await readFile(join(job, taskIndexName), 'utf8')).split('\t')
  await writeForged(job, JSON.parse(text.replace('"name":"right"', '"name":"wrong"')))
  expect(TaskIndex.of(job, settleMs)?.known(task)?.name).toBe('wrong')
  await digestBy(job, task)
  expect(TaskIndex.of(job, settleMs)?.known(task)?.name).toBe('right')
})

test('does not take in what has just changed, nor a task with links', async () => {
  const [job, fresh, linked] = [await tempDir(), await makeTask({}, 'fresh'), await makeTask({}, 'linked')]
  await symlink('test.sh', join(linked, 'tests/link'))
  await settle()
  await appendFile(join(fresh, 'tests/test.sh'), '#')
  const late = TaskIndex.of(job, 60_000)
  await late?.read(fresh, (digest) => loadTask(fresh, digest ? { digest } : {}))
  await late?.save()
  await digestBy(job, linked)
  await expect(readFile(join(job, taskIndexName), 'utf8').then((text) => text.includes('paths'))).rejects.toThrow(
    'ENOENT',
  )
})

test.each([
  ['is cut', (text: string) => text.slice(0, -20)],
  ['has changed since it was written', (text: string) => text.replace('"content":"', '"content":"0')],
  ['is empty', () => ''],
  ['is another version’s', (text: string) => text.replace(/^\w+/, '0')],
])('an index that %s counts as none', async (_, change) => {
  const [job, task] = [await tempDir(), await makeTask()]
  await settle()
  await digestBy(job, task)
  await forge(job)
  expect(await isAnswered(job, task)).toBe(true)
  const path = join(job, taskIndexName)
  await writeFile(path, change(await readFile(path, 'utf8')))
  expect(await digestBy(job, task)).toEqual(await digestTask(task))
})

test('what was kept of no files, or only of others, is not believed', async () => {
  const [job, other, task] = [await tempDir(), await tempDir(), await makeTask()]
  const { dev, ino, size, ctimeMs } = await stat(other)
  for (const [paths, stamps] of [
    [[], []],
    [[relative(task, other)], [dev, ino, size, ctimeMs]],
  ]) {
    await writeForged(job, { [task]: { paths, stamps, name: 'x', digests: forged } })
    expect(await isAnswered(job, task)).toBe(false)
  }
})

test.each([
  ['no object', () => 7],
  ['an entry that is none', (task: string) => ({ [task]: null })],
  ['an entry without digests', (task: string) => ({ [task]: { paths: [''], stamps: [1, 2, 3, 4], name: 'x' } })],
  ['paths that are no list', (task: string) => ({ [task]: { paths: '', stamps: [], name: 'x', digests: forged } })],
])('with the right sum, %s counts as nothing', async (_, made) => {
  const [job, task] = [await tempDir(), await makeTask()]
  await writeForged(job, made(task))
  expect(await digestBy(job, task)).toEqual(await digestTask(task))
})

const forged = { dirhash: 'forged', content: 'forged' }

/** An index with any content and a correct checksum. */
async function writeForged(job: string, value: unknown): Promise<void> {
  const text = JSON.stringify(value)
  await writeFile(join(job, taskIndexName), `${crc32(text, 2).toString(16)}\t${text}\n`)
}

test('a link in the place of the index is not followed, and a job that is not there has none', async () => {
  const [job, other, task] = [await tempDir(), await tempDir(), await makeTask()]
  await settle()
  await digestBy(other, task)
  await forge(other)
  await symlink(join(other, taskIndexName), join(job, taskIndexName))
  expect(await isAnswered(job, task)).toBe(false)
  expect(TaskIndex.of(join(job, 'nowhere'))).toBeNull()
})
