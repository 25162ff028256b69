import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { nameOf } from '../../scripts/build-starter.mjs'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const program = nameOf(process.arch)

withSandboxes('a package whose program for starting sandboxes', () => {
  test.each<[string, (file: string) => void]>([
    ['is missing', (file) => rmSync(file)],
    ['may not be executed', (file) => chmodSync(file, 0o644)],
    ['is for another kind of machine', (file) => writeFileSync(file, ofNoMachine(readFileSync(file)))],
    ['ends at once', (file) => copyFileSync('/bin/true', file)],
  ])('%s starts them by a shell, and says so in the record', async (why, damage) => {
    const place = join(scratch, why.replaceAll(' ', '-'))
    const root = copyOfPackage(join(place, 'package'))
    damage(join(root, 'src/sandboxes/local/starter/prebuilt', program))
    const task = await writeTask(place, 'small')
    const words = [
      'run',
      '-p',
      task,
      '-a',
      'oracle',
      '-e',
      'local',
      '-o',
      join(place, 'jobs'),
      '--job-name',
      'job',
      '-q',
    ]
    const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
    const ended = spawnSync(process.execPath, [join(root, 'bin/ot-agent.js'), ...words], { env, encoding: 'utf8' })
    expect(ended).toMatchObject({ status: 0 })
    const [trial = ''] = readdirSync(join(place, 'jobs/job')).filter((name) => name.startsWith('small__'))
    const record = readFileSync(join(place, 'jobs/job', trial, 'record.json'), 'utf8')
    expect(record).toMatch(/"startedBy":\s*"shell"/)
    expect(record).toMatch(/"reward":\s*1\b/)
  })
})

/** An architecture that does not exist, because programs for real ones may run by emulation. */
function ofNoMachine(program: Buffer): Buffer {
  const changed = Buffer.from(program)
  changed.writeUInt16LE(0xfefe, 18)
  return changed
}

/** What is needed to run: the built program, and the starter in its place. */
function copyOfPackage(root: string): string {
  const starter = 'src/sandboxes/local/starter/prebuilt'
  mkdirSync(join(root, starter), { recursive: true })
  for (const name of ['package.json', 'bin', 'dist', starter])
    cpSync(resolve(name), join(root, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  return root
}
