import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { prefetchSettings } from './prefetch-settings.ts'

test('reads the files of an environment once for all trials of a task', async () => {
  const dir = await makeTempDir()
  const environment = plainEnvironment(dir)
  const keys = () => prefetchSettings({}, 4, {})
  const settings = keys()
  writeFileSync(join(dir, 'Dockerfile'), 'FROM debian\n')
  const key = await settings.imageKey?.(environment)
  expect(key).toMatch(/^dockerfile:/)
  rmSync(join(dir, 'Dockerfile'))
  expect(await settings.imageKey?.(environment)).toBe(key)
  // Another job reads the files again, and another image has another key.
  expect(await keys().imageKey?.(environment)).toBe(null)
  expect(await settings.imageKey?.({ ...environment, dockerImage: 'debian:12' })).toBe('image:linux:debian:12')
})
