import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { readNotes } from '../../lib/process-notes.ts'
import { Cache } from './cache.ts'

test('many caches of a process record what they use in one file', async () => {
  const home = await makeTempDir()
  const place = {
    home,
    ownersDir: join(home, 'owners'),
    sandboxesDir: join(home, 'sandboxes'),
    removeDir: async () => {},
  }
  const before = process.listenerCount('exit')
  for (let nth = 0; nth < 12; nth++) new Cache(place).use('bases', `${nth % 3}`)
  // One for the notes, and one for the mark that shows that this process is alive.
  expect(process.listenerCount('exit') - before).toBeLessThanOrEqual(2)
  expect(readdirSync(join(home, 'uses'))).toHaveLength(1)
  expect(readNotes(join(home, 'uses'))[0]?.lines).toEqual(['bases/0', 'bases/1', 'bases/2'])
})
