import { expect, test } from 'vitest'
import { parseWandbFolder, wandbLink } from './wandb-run.ts'

test('the folder of a run has its time and its id', () => {
  expect(parseWandbFolder('run-20261117_093000-a1b2c3d4')).toEqual({
    ...{ stamp: '20261117_093000', id: 'a1b2c3d4', isOffline: false },
  })
  expect(parseWandbFolder('offline-run-20261117_093000-my-run')).toMatchObject({ id: 'my-run', isOffline: true })
  for (const name of ['latest-run', 'run-1-x', 'run-20261117_093000-../x', 'debug.log'])
    expect(parseWandbFolder(name)).toBeNull()
})

test('a link needs the entity, and shows no key of the address of a server', () => {
  expect(wandbLink('a1', 'p', {})).toBeNull()
  expect(wandbLink('a1', 'my project', { WANDB_ENTITY: 'team' })).toBe('https://wandb.ai/team/my%20project/runs/a1')
  const own = { WANDB_ENTITY: 'team', WANDB_BASE_URL: 'https://user:secret@wandb.example.org:8443/x' }
  expect(wandbLink('a1', 'p', own)).toBe('https://wandb.example.org:8443/team/p/runs/a1')
})
