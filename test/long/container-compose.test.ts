import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import { findCompose } from '../../src/sandboxes/containers/compose/command.ts'
import { ownedLabel } from '../../src/sandboxes/containers/labels.ts'
import { baseImage } from '../container-engine.ts'
import { everything, makeHoldProgram, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'
import { playTrial } from '../e2e/kit.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-compose-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const owner = { job: 'compose', trial: 'one' }
const sh = async (box: SandboxLease, script: string) => {
  const { stdout, stderr } = await box.exec(['bash', '-c', script], { timeoutSec: 60 })
  return stdout + stderr
}

let count = 0
function environment(files: Readonly<Record<string, string>>, changes = {}) {
  const dir = join(scratch, `environment-${++count}`)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  return plainEnvironment(dir, changes)
}

/** A server that replies with its number of requests so far and the words it was built and started with. */
const counter =
  'socket(S,2,1,6);bind(S,pack("Sna4x8",2,8080,"\\0\\0\\0\\0"))||die;listen(S,5);open(F,"/word");$w=<F>;chomp $w;' +
  'while(accept(C,S)){$n++;syswrite C,"$n $w $ENV{WORD}\\n";close C}'
const twoServices = {
  Dockerfile: `FROM ${baseImage}\nRUN echo built > /made\nVOLUME /kept\n`,
  'store/Dockerfile': `FROM ${baseImage}\nARG WORD=none\nRUN echo "$WORD" > /word\nCOPY counter.pl /\nCMD ["perl", "/counter.pl"]\n`,
  'store/counter.pl': counter,
  'seed/file': 'seed',
  'one.conf': 'conf',
  'docker-compose.yaml': `
services:
  main:
    container_name: would-clash
    depends_on: [store]
    environment: ["STORE=\${STORE_NAME:-store}", "CASH=$$5"]
    ports: ["8080:80"]
    volumes: ["shared:/shared", "./seed:/seed", "./one.conf:/etc/one.conf:ro"]
  store:
    build: { context: "\${CONTEXT_DIR}/store", args: { WORD: argued } }
    environment: { WORD: told }
    volumes: ["shared:/shared"]
volumes: { shared: }
`,
}
/** Each try has its own limit: on a busy machine, a name may lead to the address of a service that is gone. */
const ask = `for i in $(seq 25); do timeout 2 bash -c 'exec 3<>/dev/tcp/$STORE/8080 && cat <&3' && break; sleep 0.2; done 2>/dev/null`

const skipReason = findCompose(process.env) === null ? 'needs docker-compose, not found on this machine' : null
const meta = skipReason === null ? {} : { skipReason }

describe('with a compose program', { skip: skipReason !== null, meta }, () => {
  onEachEngine(
    stateDir,
    ({ name, started, makeProvider }) => {
      test('a task with two services gets both, and its tests a fresh main next to the running other', async () => {
        const provider = makeProvider()
        expect(provider.can.compose).toBe(true)
        const place = environment(twoServices, { memoryMb: 512 })
        expect(await provider.isPrepared?.(place)).toBe(false)
        await provider.prepare?.(place)
        expect(await provider.isPrepared?.(place)).toBe(true)
        await using box = await provider.lease({ owner, environment: place, env: { GIVEN: 'by the job' } })
        expect(await sh(box, 'cat /made /seed/file /etc/one.conf; echo; echo "$CASH $GIVEN"')).toBe(
          'built\nseedconf\n$5 by the job\n',
        )
        expect(await sh(box, ask)).toBe('1 argued told\n')
        // An engine without a packet filter, like ours here, can only show that it understood the request.
        const query = { filters: JSON.stringify({ label: [`${ownedLabel}=${box.id}`] }) }
        const { body } = await started().engine.ask({ method: 'GET', path: '/networks', query })
        expect(body).toEqual([expect.objectContaining({ Internal: true })])
        expect(box.facts.notes.join('\n')).toMatch(/ports of service main.*\n[\s\S]*services store keep running/)
        await sh(
          box,
          'echo mine > /shared/x; echo mine > /kept/x; echo mine > /root/x; echo other > /seed/file; sleep 1000 &',
        )
        await sh(
          box,
          'mkdir -p /tests; echo forged > /tests/test.sh; echo 1 > /logs/verifier/reward.txt; chmod 000 /tests',
        )
        for (const again of [2, 3]) {
          expect(await box.freeze()).toMatchObject({ isolation: 'shared' })
          expect(await sh(box, 'cat /shared/x /kept/x /root/x /seed/file; ls -A /tests /logs/verifier')).toBe(
            'mine\nmine\nmine\nother\n/logs/verifier:\n\n/tests:\n',
          )
          expect(await sh(box, ask)).toBe(`${again} argued told\n`)
        }
        await box[Symbol.asyncDispose]()
        expect(await everything(started())).toEqual([])
        await using next = await provider.lease({ owner, environment: place })
        expect(await sh(next, `cat /seed/file; ls /shared; ${ask}`)).toBe('seed1 argued told\n')
      })

      test('a trial of such a task is scored', async () => {
        const files = Object.fromEntries(
          Object.entries(twoServices).map(([path, text]) => [`environment/${path}`, text]),
        )
        const { record } = await playTrial({
          provider: makeProvider(),
          task: {
            toml: 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
            test: `[ "$(cat /answer)" = 42 ] && [[ "$(${ask})" = *told ]] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt`,
            files,
          },
        })
        expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
        expect(record.isolation).toBe('shared')
        // The trial does not wait long for its sandbox to disappear.
        await expect.poll(() => everything(started()), { interval: 500 }).toEqual([])
      })

      test('main alone has no network, and its tests a machine of their own', async () => {
        const compose = `services: { main: { image: "${baseImage}", working_dir: /srv, user: nobody, tmpfs: [/scratch] } }`
        const place = environment({ 'docker-compose.yaml': compose })
        await using box = await makeProvider().lease({ owner, environment: place })
        expect(await sh(box, 'id -un; pwd; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "')).toBe(
          'nobody\n/srv\nlo\n',
        )
        expect(await box.freeze()).toMatchObject({ isolation: 'fresh' })
      })

      test('a process killed while services start or run leaves nothing that a cleaning does not find', async () => {
        const program = await makeHoldProgram(scratch)
        const { dir } = environment(twoServices)
        await makeProvider().prepare?.(plainEnvironment(dir))
        for (const phase of ['creating', 'running', 'freezing']) {
          const line = [program, name, started().socket, baseImage, stateDir, dir, phase]
          const child = spawn(process.execPath, line, { stdio: ['ignore', 'pipe', 'inherit'] })
          const exit = once(child, 'exit')
          await once(child.stdout, 'data')
          await new Promise((resolve) => setTimeout(resolve, 1000 + Math.random() * 2000))
          child.kill('SIGKILL')
          expect(await exit).toEqual([null, 'SIGKILL'])
          const left = async () => {
            await makeProvider().reap()
            return everything(started())
          }
          await expect.poll(left, { interval: 500 }).toEqual([])
        }
      })

      test('a service that cannot start fails the lease with what was said, and leaves nothing', async () => {
        const compose = `services:\n  main: { image: "${baseImage}" }\n  bad: { image: "${baseImage}", entrypoint: [/no/such/program] }\n`
        const place = environment({ 'docker-compose.yaml': compose })
        const error = await makeProvider()
          .lease({ owner, environment: place })
          .catch((error: unknown) => error)
        expect(String(error)).toContain('/no/such/program')
        expect(await everything(started())).toEqual([])
      })
    },
    ['perl'],
  )
})
