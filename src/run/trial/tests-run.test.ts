import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRewardFiles } from './tests-run.ts'

test('reads what is there and says null for what is not', async () => {
  const dir = await folder()
  await writeFile(join(dir, 'reward.txt'), '1\n')
  expect(await readRewardFiles(dir)).toEqual({ txt: '1\n', json: null })
})

test('a link is refused, wherever it points', async () => {
  const dir = await folder()
  await writeFile(join(dir, 'other'), '1')
  await symlink('other', join(dir, 'reward.txt'))
  await expect(readRewardFiles(dir)).rejects.toMatchObject({ boundary: 'verifier', code: 'VerifierOutputParseError' })
})

test('a directory and a huge file are refused', async () => {
  const dir = await folder()
  await mkdir(join(dir, 'reward.txt'))
  await expect(readRewardFiles(dir)).rejects.toMatchObject({ code: 'VerifierOutputParseError' })
  const other = await folder()
  await writeFile(join(other, 'reward.json'), ' '.repeat(2 * 1024 * 1024))
  await expect(readRewardFiles(other)).rejects.toMatchObject({ code: 'VerifierOutputParseError' })
})

function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'reward-files-'))
}
