import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import { identify, markName } from '../../lib/process-identity.ts'
import { newId } from '../namespaces/lease-file.ts'
import { reap } from './reap.ts'
import { Workshop } from './workshop.ts'

describe('control groups without a sandbox', needs('bwrap'), () => {
  test('stay when their owner lives: its sandbox may be only a moment old', async (context) => {
    const workshop = await openWorkshop(context)
    const id = group(workshop, newId(workshop.ownersDir))
    expect(await reap(workshop)).toEqual([])
    expect(workshop.groups.list()).toContain(id)
  })

  test('are removed when their owner is dead', async (context) => {
    const workshop = await openWorkshop(context)
    const id = group(workshop, await idOfDeadOwner())
    expect(await reap(workshop)).toMatchObject([{ id }])
    expect(workshop.groups.list()).not.toContain(id)
  })
})

test(
  'a process that a dead owner left half-started is known by its mounts, and ended',
  needs('root', 'bwrap', 'unshare'),
  async () => {
    const workshop = await Workshop.open(await mkdtemp(join(tmpdir(), 'state-')))
    const id = await idOfDeadOwner()
    const dirs = ['lower', 'merged', `sandboxes/${id}/upper`, `sandboxes/${id}/work`]
    for (const dir of dirs) await mkdir(join(workshop.home, dir), { recursive: true })
    const options = `lowerdir=lower,upperdir=sandboxes/${id}/upper,workdir=sandboxes/${id}/work`
    const script = `cd '${workshop.home}' && mount -t overlay -o ${options} overlay merged && echo mounted && exec sleep 1000`
    const child = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const ended = once(child, 'exit')
    expect(await reap(workshop)).toMatchObject([{ id }])
    expect(await ended).toEqual([null, 'SIGKILL'])
  },
)

async function openWorkshop(context: TestContext): Promise<Workshop> {
  const workshop = await Workshop.open(await mkdtemp(join(tmpdir(), 'state-')))
  context.skip(!Object.values(workshop.groups.enforces).some(Boolean), 'needs control groups this user may write to')
  return workshop
}

function group(workshop: Workshop, id: string): string {
  workshop.groups.create(id, {})
  onTestFinished(async () => {
    await workshop.groups.at(id).remove()
    workshop.groups.removeParent()
  })
  return id
}

async function idOfDeadOwner(): Promise<string> {
  const child = spawn('sleep', ['60'])
  const dead = identify(child.pid ?? 0)!
  child.kill('SIGKILL')
  await once(child, 'close')
  return `${randomBytes(6).toString('hex')}-${markName({ ...dead })}`
}
