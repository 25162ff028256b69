import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { asOrdinaryUser } from '../../test/ordinary-user.ts'
import { forbidden } from './disk-errors.ts'

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

test('a permission error becomes two lines that name the path; other errors do not', async () => {
  const dir = await makeTempDir()
  await chmod(dir, 0o755)
  const closed = join(dir, 'closed')
  await mkdir(closed)
  await chmod(closed, 0o000)
  const refused = await asOrdinaryUser(() => errorOf(readdir(closed)))
  expect(forbidden(refused)).toMatchObject({ name: 'UserError', message: `${closed}: permission denied (EACCES)` })
  expect(forbidden(await errorOf(stat(join(dir, 'missing'))))).toBeNull()
  expect(forbidden(Object.assign(new Error('kill'), { code: 'EPERM' }))).toBeNull()
  expect(forbidden(null)).toBeNull()
})
