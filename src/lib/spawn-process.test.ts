import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { execProcess, spawnProcess } from './spawn-process.ts'

test('starts a program with its streams', async () => {
  const child = await spawnProcess('sh', ['-c', 'cat; exit 3'], { stdio: ['pipe', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  child.stdin.end('hello')
  expect(String((await once(child.stdout, 'data'))[0])).toBe('hello')
  expect(await closed).toEqual([3, null])
})

test('throws what is wrong with a program that cannot be started', async () => {
  await expect(spawnProcess('/does/not/exist', [], {})).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(execProcess('/does/not/exist', [])).rejects.toMatchObject({ code: 'ENOENT' })
})

test('reports how a failing program ended and what it printed', async () => {
  const failed = execProcess('sh', ['-c', 'echo out; echo err >&2; exit 4'])
  await expect(failed).rejects.toMatchObject({ code: 4, stdout: 'out\n', stderr: 'err\n' })
})

/**
 * Opens files until no more can be opened, starts a program, and prints the result; `later`: closes them in the
 * meantime.
 */
const program = `
  import { closeSync, openSync } from 'node:fs'
  import { execProcess, spawnProcess } from './spawn-process.ts'
  const files = []
  try { for (;;) files.push(openSync('/dev/null')) } catch {}
  const giveBack = () => files.splice(0).forEach((file) => closeSync(file))
  if (process.argv[2] === 'later') setTimeout(giveBack, 200)
  Promise.all([
    spawnProcess('true', [], { stdio: 'pipe' }).then((child) => typeof child.pid, (error) => error.message),
    execProcess('true', []).then(() => 'ran', (error) => error.message),
  ]).then((said) => {
    giveBack()
    console.log(JSON.stringify(said))
  })
`
const ranOut = 'cannot start true: this machine has run out of file descriptors'

test.each([
  ['later', ['number', 'ran']],
  ['never', [ranOut, ranOut]],
])('waits where no descriptor is left, and says so when that is no use (%s)', async (when, said) => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-spawn-'))
  const file = join(dir, 'program.cjs')
  const stdin = { contents: program, resolveDir: import.meta.dirname }
  await build({ stdin, bundle: true, platform: 'node', format: 'cjs', outfile: file, logLevel: 'silent' })
  const line = ['-c', 'ulimit -n 60; exec "$@"', 'sh', process.execPath, file, when]
  expect(JSON.parse(execFileSync('sh', line, { encoding: 'utf8' }))).toEqual(said)
  rmSync(dir, { recursive: true })
})
