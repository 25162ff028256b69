import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { everything, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-container-calls-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const owner = { job: 'calls', trial: 'one' }
const environment = plainEnvironment(scratch)

/** What a trial spares the engine. */
onEachEngine(stateDir, ({ started, makeProvider }) => {
  test('a small tree arrives right under the root as it is: bytes, modes and links', async () => {
    const source = mkdtempSync(join(scratch, 'small-'))
    mkdirSync(join(source, 'closed'), { recursive: true })
    writeFileSync(
      join(source, 'bytes'),
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    )
    writeFileSync(join(source, 'closed/run it.sh'), 'echo "it\'s 100%"\n')
    chmodSync(join(source, 'closed/run it.sh'), 0o755)
    chmodSync(join(source, 'closed'), 0o750)
    symlinkSync('bytes', join(source, 'link'))
    await using box = await makeProvider().lease({ owner, environment })
    await box.uploadDir(source, '/small')
    // The second time something is there.
    for (let round = 0; round < 2; round++) {
      const seen = await box.exec(
        ['sh', '-c', 'stat -c "%a %u %n" bytes closed closed/*; readlink link; sh closed/run*'],
        { cwd: '/small' },
      )
      expect(seen.stdout).toBe("644 0 bytes\n750 0 closed\n755 0 closed/run it.sh\nbytes\nit's 100%\n")
      expect(
        Buffer.from(await box.read('/small/bytes')).equals(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
      ).toBe(true)
      await box.uploadDir(source, '/small')
    }
  })

  test('a sandbox that is released while its old container is being removed leaves nothing', async () => {
    const before = await everything(started())
    const provider = makeProvider()
    for (let round = 0; round < 3; round++) {
      const box = await provider.lease({ owner, environment })
      await box.freeze({ system: 'image' })
      await box[Symbol.asyncDispose]()
      expect(await everything(started())).toEqual(before)
    }
  })
})
