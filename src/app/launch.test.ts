import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from './launch.ts'
import { cancelLaunch, launchStatus, listLaunches } from './launches.ts'

const consolidate = { jobType: 'consolidate', consolidateInput: '/ckpt/run', cluster: 'vista', dryRun: true } as const

test('a request in camel case plans what its flags would, and a dry run hands nothing over', async () => {
  const { id, plan, submitted } = await launch({ ...consolidate, experimentsDir: '/exp', timeLimit: '01:00:00' })
  expect(plan.launch).toMatchObject({ id, jobType: 'consolidate', experimentsDir: '/exp' })
  expect(plan.launch.jobs.map(({ name, resources }) => [name, resources.timeLimit])).toEqual([
    ['consolidate', '01:00:00'],
  ])
  expect(plan.scripts.get('consolidate')?.text).toContain('#SBATCH --time=01:00:00')
  expect(submitted).toEqual([])
})

test('what a request cannot hold is refused with the name that was meant, and says where it came from', async () => {
  const misspelt = { ...consolidate, consolidateInptu: 'x' }
  await expect(launch(misspelt)).rejects.toMatchObject({
    message: 'request: unknown setting "consolidateInptu"',
    hint: 'did you mean consolidate_input?',
  })
  await expect(launch({ ...consolidate, maxRestarts: -1 })).rejects.toThrow(
    '--max-restarts (request): expected a whole',
  )
})

test('a directory without launches lists none, and has none to ask about', async () => {
  const experimentsDir = join(mkdtempSync(join(tmpdir(), 'launches-')), 'experiments')
  expect(await listLaunches({ experimentsDir })).toEqual({ launches: [], broken: [] })
  await expect(launchStatus({ experimentsDir })).rejects.toThrow('expected launches in')
  await expect(cancelLaunch({ experimentsDir, launch: 'x' })).rejects.toThrow('begins with "x"')
})
