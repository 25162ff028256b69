import { expect, test } from 'vitest'
import { CarryRules, type ImageKind, mayTouchSystem } from './carry-rules.ts'
import { type Change, ChangeLog } from './changes.ts'

const searchPath = ['/usr/local/bin', '/usr/bin', '/bin']

/** `+` for added, `-` for removed, `~` for modified. */
async function logOf(words: string): Promise<ChangeLog> {
  const kinds = { '+': 'added', '-': 'removed', '~': 'modified' } as const
  const list = words.split(' ').map((word): Change => {
    const kind = kinds[word[0] as keyof typeof kinds]
    return { path: word.slice(1), kind }
  })
  const changes = async function* () {
    yield* list
  }
  return ChangeLog.of(changes())
}

interface Options {
  readonly image?: Readonly<Record<string, ImageKind>>
  readonly mounts?: readonly string[]
  readonly provided?: readonly string[]
  readonly restore?: boolean
}

/** Applies the rules to what is left; a path that ends with a slash is a directory, `path=text` a file. */
async function carry(log: ChangeLog, left: string, options: Options = {}) {
  const { image = {}, mounts = [], provided = [], restore = true } = options
  const lookAt = async (paths: readonly string[]) => paths.map((path) => image[path] ?? 'nothing')
  const rules = await CarryRules.make({ log, searchPath, restore, mounts, provided, lookAt })
  const carried = left.split(' ').filter((word) => {
    const [, path = '', text = null] = /^(.+?)\/?(?:=(.*))?$/.exec(word) ?? []
    return rules.isListed(path) && rules.decide(path, word.endsWith('/') ? 'dir' : 'other', text ?? null)
  })
  const removed = [...log.removed].filter((path) => rules.mayRemove(path))
  const found = (await rules.finish()).map(({ path, change }) => `${change} ${path}`)
  return { carried, removed, found, rules }
}

test('carries ordinary work over and leaves the system to the image', async () => {
  const log = await logOf('~/usr ~/usr/bin ~/usr/bin/env -/usr/bin/wc +/app +/app/x -/srv/gone +/etc/ld.so.preload')
  const left = '/app/ /app/x /etc/ld.so.preload /usr/ /usr/bin/ /usr/bin/env /usr/bin/stealthy'
  const { carried, removed, found } = await carry(log, left)
  expect(carried).toEqual(['/app/', '/app/x'])
  expect(removed).toEqual(['/srv/gone'])
  expect(found).toEqual(['added /etc/ld.so.preload', 'modified /usr/bin/env', 'removed /usr/bin/wc'])
})

test('leaves bytecode of the image’s modules to the image and does not speak of it', async () => {
  const lib = '/usr/lib/python3.11'
  const pyc = (name: string) => `${lib}/__pycache__/${name}.cpython-311.pyc`
  const log = await logOf(`+${pyc('argparse')} ~${pyc('os')} -${pyc('re')} +${pyc('mine')} +${lib}/mine.py`)
  const left = `${pyc('argparse')} ${pyc('os')} ${pyc('mine')} ${lib}/mine.py`
  const { carried, removed, found } = await carry(log, left, { image: { [`${lib}/argparse.py`]: 'other' } })
  expect(carried).toEqual([pyc('mine'), `${lib}/mine.py`])
  expect({ removed, found }).toEqual({ removed: [], found: [] })
})

test('carries nothing below a directory that took the place of a link of the system', async () => {
  const log = await logOf('~/lib +/lib/python3 +/lib/python3/os.py')
  const left = '/lib/ /lib/python3/ /lib/python3/os.py'
  const linked = await carry(log, left, { image: { '/lib': 'other' } })
  expect(linked).toMatchObject({ carried: [], found: ['modified /lib'] })
  const dir = await carry(log, left, { image: { '/lib': 'dir' } })
  expect(dir).toMatchObject({ carried: ['/lib/python3/', '/lib/python3/os.py'], found: [] })
})

test('tells a touched directory of the system from one that took the place of a file', async () => {
  const log = await logOf('~/usr/bin')
  expect(await carry(log, '/usr/bin/', { image: { '/usr/bin': 'dir' } })).toMatchObject({ carried: [], found: [] })
  expect(await carry(log, '/usr/bin/', { image: { '/usr/bin': 'other' } })).toMatchObject({
    found: ['modified /usr/bin'],
  })
})

test('takes a new program for one of the system only where it hides another', async () => {
  const log = await logOf('+/usr/local/bin/cut +/usr/local/bin/mine')
  const image = { '/usr/bin/cut': 'other' } as const
  expect(await carry(log, '/usr/local/bin/cut /usr/local/bin/mine', { image })).toMatchObject({
    carried: ['/usr/local/bin/mine'],
    found: ['added /usr/local/bin/cut'],
  })
})

test('reads settings that may name programs, and trusts no link in their place', async () => {
  const log = await logOf('+/a/.git/config +/b/.git/config +/c/.git/config')
  const left = '/a/.git/config=[user] /b/.git/config=hookspath=/x /c/.git/config'
  expect((await carry(log, left)).found).toEqual(['added /b/.git/config', 'added /c/.git/config'])
})

test('leaves mounts alone, and anything on the way to one', async () => {
  const log = await logOf('+/tests +/logs +/data/x -/data -/data/vol')
  const { carried, removed } = await carry(log, '/tests /logs /data/x', {
    mounts: ['/tests', '/logs/verifier', '/data/vol'],
  })
  expect(carried).toEqual(['/data/x'])
  expect(removed).toEqual([])
})

test('knows files of the system that came with the task', async () => {
  const log = await logOf('+/etc/profile.d/task.sh +/etc/profile.d/mine.sh')
  const { carried, found } = await carry(log, '/etc/profile.d/task.sh /etc/profile.d/mine.sh', {
    provided: ['/etc/profile.d/task.sh'],
  })
  expect(carried).toEqual([])
  expect(found).toEqual(['added /etc/profile.d/mine.sh'])
})

test('carries everything over when nothing is to be restored', async () => {
  const log = await logOf('~/usr/bin/env -/usr/bin/wc')
  expect(await carry(log, '/usr/bin/env', { restore: false })).toMatchObject({
    carried: ['/usr/bin/env'],
    removed: ['/usr/bin/wc'],
    found: [],
  })
})

test('sees by paths alone whether the system may have been changed', async () => {
  const may = async (words: string, dirs: readonly string[] = []) =>
    mayTouchSystem(await logOf(words), searchPath, (path) => dirs.includes(path))
  expect(await may('~/app/x +/srv/y ~/etc ~/etc/passwd')).toBe(false)
  expect(await may('~/root +/root/.cache +/root/.cache/x')).toBe(true)
  expect(await may('~/root +/root/.cache +/root/.cache/x', ['/root'])).toBe(false)
  expect(await may('-/usr/bin/wc')).toBe(true)
  expect(await may('+/root/.bashrc')).toBe(true)
})

test('more changes than can be kept in mind are an error', async () => {
  const changes = async function* (): AsyncGenerator<Change> {
    for (let i = 0; i < 10; i++) yield { path: `/app/${i}`, kind: 'added' }
  }
  expect((await ChangeLog.of(changes(), 10)).touched.size).toBe(10)
  await expect(ChangeLog.of(changes(), 9)).rejects.toThrow('more than 9 files')
})
