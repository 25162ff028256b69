import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { HubStandIn } from '../../../test/fakes/hub/server.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import list from './list.ts'
import squash from './squash.ts'

let hub: HubStandIn
beforeEach(async () => {
  hub = await HubStandIn.start()
  for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
})
afterEach(() => hub.close())

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'hub'], argv)
  return printed()
}

test('list shows the models and datasets of one organization, over all pages', async () => {
  for (const name of ['a', 'b', 'c', 'd']) hub.repo(`org/${name}`)
  hub.repo('org/secret', true)
  hub.repo('models/org/m')
  hub.repo('other/x')
  const lines = (await run(list, 'org')).trim().split('\n')
  expect(lines.map((line) => line.split(/ +/).slice(0, 3).join(' '))).toEqual([
    'type name visibility',
    'model org/m public',
    ...['a', 'b', 'c', 'd'].map((name) => `dataset org/${name} public`),
    'dataset org/secret private',
  ])
  expect(lines[1]).toContain('2026-01-01')
  const { repositories } = JSON.parse(await run(list, 'org', '--only', 'models', '--json'))
  expect(repositories).toEqual([
    { type: 'model', name: 'org/m', isPrivate: false, lastModified: '2026-01-01T00:00:00.000Z', downloads: 7 },
  ])
  vi.stubEnv('HF_TOKEN', '')
  expect(await run(list, 'org', '--only', 'datasets')).not.toContain('secret')
})

test('squash makes one commit of a history and keeps the files', async () => {
  const repo = hub.repo('org/set')
  repo.put('a.txt', 'a')
  repo.put('b.txt', 'b')
  const [old] = repo.commits
  expect(await run(squash, 'org/set', '--dry-run')).toBe('would squash 3 commits of org/set (main)\n')
  expect(repo.history('main')).toHaveLength(3)
  const done = JSON.parse(await run(squash, 'org/set', '--yes', '--json', '-m', 'fresh start'))
  expect(done).toMatchObject({ repository: 'org/set', branch: 'main', commits: 3, commit: repo.branches.get('main') })
  expect(repo.history('main').map(({ title }) => title)).toEqual(['fresh start'])
  expect([...(repo.commit('main')?.files.keys() ?? [])]).toEqual(['.gitattributes', 'a.txt', 'b.txt'])
  expect(repo.commit(old?.sha ?? '')).toBeUndefined()
  // Nothing is left to squash.
  expect(JSON.parse(await run(squash, 'org/set', '--json'))).toMatchObject({ commits: 1, commit: null })
})

test('squash touches another branch or a model only when asked to', async () => {
  const repo = hub.repo('models/org/set')
  repo.add('next', 'one', new Map())
  repo.add('next', 'two', new Map())
  repo.put('a.txt', 'a')
  await run(squash, 'org/set', '--model', '--revision', 'next', '--yes')
  expect([repo.history('next').length, repo.history('main').length]).toEqual([1, 2])
})

test('squash asks first, and refuses what it cannot do', async () => {
  const repo = hub.repo('org/set')
  repo.put('a.txt', 'a')
  await expect(run(squash, 'org/set')).rejects.toThrow('no terminal to ask on')
  await expect(run(squash, 'org/none', '--yes')).rejects.toThrow('found nothing (404)')
  await expect(run(squash, 'org/set', '--revision', 'none', '--yes')).rejects.toThrow('found nothing (404)')
  await expect(run(squash, 'file:/tmp/x', '--yes')).rejects.toThrow('got a folder')
  hub.repo('locked/set').put('a.txt', 'a')
  await expect(run(squash, 'locked/set', '--yes')).rejects.toThrow('lacks permission (403)')
  vi.stubEnv('HF_TOKEN', '')
  await expect(run(squash, 'org/set', '--yes')).rejects.toThrow('expected a token to write with')
  expect(repo.history('main')).toHaveLength(2)
})
