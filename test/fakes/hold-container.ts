import docker from '../../src/sandboxes/docker.ts'
import podman from '../../src/sandboxes/podman.ts'
import { plainEnvironment } from '../contracts/environment.ts'

/** A program that reaches one phase of a sandbox's life, reports it, and waits there to be killed. */
const [name, socket, base, stateDir = '', dir = '', phase, network] = process.argv.slice(2)
const plugin = name === 'docker' ? docker : podman
const provider = plugin.make(plugin.options.parse({ socket, base, buildNetwork: 'none' }), { env: {}, stateDir })
const request = {
  owner: { job: 'leak', trial: String(phase) },
  environment: plainEnvironment(dir, network === 'public' ? { network: { mode: network } } : {}),
}
process.stdout.on('error', () => {})
const say = (text: string) => process.stdout.write(`${text}\n`)

if (phase === 'building') {
  await provider.prepare?.(request.environment, { log: say })
} else if (phase === 'creating') {
  say('at it')
  for (;;) await provider.lease(request)
} else {
  const box = await provider.lease(request)
  await box.exec(['sh', '-c', 'sleep 1000 & echo here'])
  say('at it')
  while (phase === 'freezing') await box.freeze()
  setInterval(() => {}, 1000)
}
