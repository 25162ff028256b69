import { expect, test } from 'vitest'
import type { ComposeService } from '../../../formats/compose/service.ts'
import type { ContainerSpec } from '../container.ts'
import { renderProject } from './render.ts'

const main: ContainerSpec = {
  name: 'box-0',
  image: 'image',
  labels: {},
  env: {},
  user: '0',
  program: [],
  volumes: [],
  toolDirs: [],
  network: 'none',
  limits: { pids: 100, memoryMb: 64, cpus: 2 },
  gpus: 0,
  gpuDevices: false,
  seccompProfile: null,
  channel: null,
}

function service(rest: Readonly<Record<string, unknown>>): ComposeService {
  const nothing = { image: 'x', build: undefined, entrypoint: undefined, command: undefined, networkMode: undefined }
  return { ...nothing, environment: {}, mounts: [], rest }
}

function render(rest: Readonly<Record<string, unknown>>) {
  const file = { services: { main: service({}), side: service(rest) }, networks: {}, volumes: [], notes: [] }
  const options = { project: 'box', file, images: new Map(), main, directories: new Set<string>(), closed: true }
  const text = JSON.stringify(renderProject(options))
  return JSON.parse(text).services.side as Record<string, unknown>
}

const ours = { pids_limit: 100, mem_limit: 64 * 2 ** 20, memswap_limit: 64 * 2 ** 20, cpus: 2 }

test('a side service has the limits of the sandbox, and cannot lift them', () => {
  expect(render({})).toMatchObject({
    ...ours,
    security_opt: ['no-new-privileges:true'],
    cap_drop: ['NET_RAW', 'MKNOD'],
  })
  const lifted = { pids_limit: -1, mem_limit: '9g', memswap_limit: -1, cpus: 64, cpu_quota: -1, cpu_period: 1000 }
  expect(render(lifted)).toMatchObject(ours)
  expect(render(lifted)).not.toHaveProperty('cpu_quota')
  expect(render({ mem_limit: 'lots', pids_limit: 'all', cpus: 'many' })).toMatchObject(ours)
})

test('a side service keeps limits of its own that are tighter, and capabilities that it names', () => {
  const own = { pids_limit: 10, mem_limit: '32M', cpus: '0.5', cap_add: ['NET_RAW'], cap_drop: ['KILL'] }
  const kept = { pids_limit: 10, mem_limit: 32 * 2 ** 20, memswap_limit: 32 * 2 ** 20, cpus: 0.5 }
  expect(render(own)).toMatchObject({ ...kept, cap_drop: ['MKNOD', 'KILL'] })
})
