import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import type { Environment } from '../../src/core/task.ts'
import { findCompose } from '../../src/sandboxes/containers/compose/command.ts'
import { baseImage, type TestEngine } from '../container-engine.ts'
import { everything, makeHoldProgram, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-networks-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const owner = { job: 'networks', trial: 'one' }
const isPublic = { network: { mode: 'public' } } as const
const sh = async (box: SandboxLease, script: string) => (await box.exec(['bash', '-c', script])).stdout

let count = 0
function environment(files: Readonly<Record<string, string>>, changes: Partial<Environment> = {}): Environment {
  const dir = join(scratch, `environment-${++count}`)
  mkdirSync(dir, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  return plainEnvironment(dir, changes)
}

const port = 8123
const answer =
  `socket(S,2,1,6);bind(S,pack("Sna4x8",2,${port},"\\0\\0\\0\\0"))||die;listen(S,5);` +
  'while(accept(C,S)){syswrite C,"a neighbour\\n";close C}'
const isUp = `(: < /dev/tcp/127.0.0.1/${port}) 2>/dev/null`
const listen = (box: SandboxLease) =>
  sh(box, `setsid perl -e '${answer}' > /dev/null 2>&1 & until ${isUp}; do sleep 0.05; done; echo up`)
/** A script that prints what answers at each of these addresses. */
const reach = (addresses: readonly string[]) =>
  `${addresses.map((at) => `timeout 10 bash -c "cat < /dev/tcp/${at}/${port}" 2>/dev/null &`).join('\n')}\nwait`
/** A busy machine may be slow to answer. */
const links = 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | tr "\\n" " "'

async function addressOf({ engine }: TestEngine, box: SandboxLease): Promise<string> {
  const { body } = await engine.ask({ method: 'GET', path: `/containers/${box.id}-0/json` })
  const { Networks } = (body as { NetworkSettings: { Networks: Record<string, { IPAddress: string }> } })
    .NetworkSettings
  return Object.values(Networks)[0]?.IPAddress ?? ''
}

/** A service on the engine's machine, on all its addresses. */
async function openHostService({ pid }: TestEngine) {
  const script = `require('net').createServer((s) => s.on('error', () => {}).end('the host\\n')).listen(${port}, '::', () => console.log('up'))`
  const inside = ['-t', String(pid), '-n']
  const child = spawn('nsenter', [...inside, process.execPath, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  await once(child.stdout, 'data')
  return {
    /** Every address of the machine; link-local ones, such as those of bridges, with their interface. */
    addresses: () => {
      const said = execFileSync('nsenter', [...inside, 'ip', '-o', 'addr'], { encoding: 'utf8' })
      return [...said.matchAll(/inet6? ([^/ ]+)/g)].map(([, at = '']) => (at.startsWith('fe80') ? `${at}%eth0` : at))
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

const twoServices = `services:
  main: { image: "${baseImage}", depends_on: [side] }
  side: { image: "${baseImage}", command: ["perl", "-e", '${answer.replaceAll('$', '$$')}'] }
`

const skipReason = findCompose(process.env) === null ? 'needs docker-compose, not found on this machine' : null
const meta = skipReason === null ? {} : { skipReason }

describe('networks of sandboxes', { skip: skipReason !== null, meta }, () => {
  onEachEngine(
    stateDir,
    ({ name, started, makeProvider }) => {
      test('two sandboxes with a public network do not reach each other, and their networks go with them', async () => {
        const provider = makeProvider()
        const [one, two] = [
          await provider.lease({ owner, environment: environment({}, isPublic) }),
          await provider.lease({ owner, environment: environment({}, isPublic) }),
        ]
        for (const box of [one, two]) expect(await listen(box)).toBe('up\n')
        const [here, there] = [await addressOf(started(), one), await addressOf(started(), two)]
        await expect.poll(() => sh(one, reach([here]))).toBe('a neighbour\n')
        expect(await sh(one, reach([there]))).toBe('')
        expect(await sh(two, reach([here]))).toBe('')
        await one.freeze()
        await two.freeze()
        for (const box of [one, two]) await box[Symbol.asyncDispose]()
        expect(await everything(started())).toEqual([])
      })

      test('the network of a killed process is found by a cleaning', async () => {
        const program = await makeHoldProgram(scratch)
        const { dir } = environment({})
        const line = [program, name, started().socket, baseImage, stateDir, dir, 'running', 'public']
        const child = spawn(process.execPath, line, { stdio: ['ignore', 'pipe', 'inherit'] })
        const exit = once(child, 'exit')
        await once(child.stdout, 'data')
        expect((await everything(started())).join()).toContain('-net')
        expect(await makeProvider().reap()).toEqual([])
        child.kill('SIGKILL')
        await exit
        const reaped = await makeProvider().reap()
        expect(reaped.map(({ what }) => what.split(' ')[0])).toEqual(['container', 'network'])
        expect(await everything(started())).toEqual([])
      })

      test('a compose file with one service has the network of a sandbox', async () => {
        const files = { 'docker-compose.yaml': `services: { main: { image: "${baseImage}" } }` }
        const box = await makeProvider().lease({ owner, environment: environment(files, isPublic) })
        expect(await sh(box, links)).toMatch(/^(lo eth0|eth0 lo) $/)
        await box.freeze()
        expect(await sh(box, links)).toMatch(/^(lo eth0|eth0 lo) $/)
        await box[Symbol.asyncDispose]()
        expect(await everything(started())).toEqual([])
      })

      test('sandboxes on a deliberately shared network do reach each other: the test above can fail', async () => {
        const provider = makeProvider({ network: 'bridge' })
        await using one = await provider.lease({ owner, environment: environment({}, isPublic) })
        await using two = await provider.lease({ owner, environment: environment({}, isPublic) })
        expect(await listen(two)).toBe('up\n')
        const there = await addressOf(started(), two)
        await expect.poll(() => sh(one, reach([there]))).toBe('a neighbour\n')
      })

      test('services without network reach each other, and the host at none of its addresses', async () => {
        await using host = await openHostService(started())
        const lease = (changes: Partial<Environment>) =>
          makeProvider().lease({ owner, environment: environment({ 'docker-compose.yaml': twoServices }, changes) })
        await using box = await lease({})
        await expect.poll(() => sh(box, reach(['side']))).toBe('a neighbour\n')
        const [mine = ''] =
          (await sh(box, 'cat /proc/net/fib_trie')).match(/\d+\.\d+\.\d+\.\d+(?=\n.*32 host LOCAL)/g) ?? []
        const first = mine.replace(/\d+$/, '1')
        const all = [...host.addresses(), first, '127.0.0.1', '0.0.0.0', '::1', '::ffff:127.0.0.1']
        expect(await sh(box, reach(all))).toBe('')
        expect(await sh(box, 'cat /proc/net/if_inet6 2>/dev/null')).toBe('')
        // With network, the host is reachable through the first hop, which shows that the service can be reached at
        // all.
        await using open = await lease(isPublic)
        const outside = host.addresses().filter((at) => at !== '127.0.0.1')
        await expect.poll(() => sh(open, reach(outside))).toContain('the host')
      })

      test('a compose file without network gets no rights by which to make packets or addresses', async () => {
        const lease = (more: string) => {
          const files = { 'docker-compose.yaml': `${twoServices}  third: { image: "${baseImage}", ${more} }\n` }
          return makeProvider().lease({ owner, environment: environment(files) })
        }
        await expect(lease('cap_add: [NET_ADMIN]')).rejects.toThrow('could reach the host')
        await expect(lease('cap_add: [CAP_NET_RAW]')).rejects.toThrow('could reach the host')
        await expect(lease('sysctls: { net.ipv6.conf.eth0.disable_ipv6: 0 }')).rejects.toThrow('could reach the host')
        await expect(lease('sysctls: ["net.ipv6.conf.all.disable_ipv6=0"]')).rejects.toThrow('could reach the host')
        expect(await everything(started())).toEqual([])
      })

      test('a build has the task’s network: none or a separate one, never the host’s', async () => {
        await using host = await openHostService(started())
        const look = `${links} > /links; (${reach(host.addresses()).replaceAll('\n', ' ')}) > /heard`
        const seen = async (changes: Partial<Environment>, options = {}) => {
          const provider = makeProvider({ buildNetwork: undefined, ...options })
          // A unique number, so that no layer of an earlier build is reused.
          const place = environment({ Dockerfile: `FROM ${baseImage}\nRUN : ${count}; ${look}\n` }, changes)
          await using box = await provider.lease({ owner, environment: place })
          return await sh(box, 'cat /links /heard')
        }
        expect(await seen({})).toBe('lo ')
        expect(await seen({ network: { mode: 'allowlist', hosts: ['example.org'] } })).toBe('lo ')
        expect((await seen(isPublic)).replace(/the host\n/g, '')).toMatch(/^(lo eth0|eth0 lo) $/)
        expect((await seen({}, { buildNetwork: 'public' })).replace(/the host\n/g, '')).toMatch(/^(lo eth0|eth0 lo) $/)
        expect(await everything(started())).toEqual([])
      })

      test('nothing of the host is fetched or mounted by a build without network', async () => {
        await using _host = await openHostService(started())
        const build = (line: string) =>
          makeProvider({ buildNetwork: undefined }).prepare?.(
            environment({ Dockerfile: `FROM ${baseImage}\n${line}\n` }),
          )
        const lines = [
          `ADD http://127.0.0.1:${port}/x /x`,
          'RUN --network=host true',
          'RUN --mount=type=bind,source=/,target=/x true',
          'RUN --mount=type=cache,id=../../../../etc,target=/x true',
          'COPY --from=dir:/etc /passwd /x',
          `RUN <<CMD\nADD http://127.0.0.1:${port}/x /x\nCMD`,
        ]
        for (const line of lines)
          await expect(build(line), line).rejects.toMatchObject({ code: 'EnvironmentBuildError', boundary: 'task' })
      })

      // Podman has tens of thousands of ranges.
      if (name === 'docker')
        test('sandboxes get networks when the engine has no range of addresses left', async () => {
          const { engine } = started()
          const create = async (index: number) => {
            const json = { Name: `full-${index}` }
            return (await engine.ask({ method: 'POST', path: '/networks/create', json, accept: [400, 403, 404, 500] }))
              .status
          }
          let made = 0
          while ((await create(made)) < 400) made++
          expect(made).toBeGreaterThan(10)
          const provider = makeProvider()
          const boxes = await Promise.all(
            [1, 2, 3].map(() => provider.lease({ owner, environment: environment({}, isPublic) })),
          )
          const addresses = await Promise.all(boxes.map((box) => addressOf(started(), box)))
          expect(new Set(addresses).size).toBe(3)
          for (const address of addresses) expect(address).toMatch(/^198\.19\./)
          for (const box of boxes) await box[Symbol.asyncDispose]()
          while (made > 0) await engine.ask({ method: 'DELETE', path: `/networks/full-${--made}` })
          expect(await everything(started())).toEqual([])
        })
    },
    ['perl'],
    { apart: true },
  )
})
