import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxProvider } from '../src/core/sandbox.ts'
import local from '../src/sandboxes/local/index.ts'
import { plainEnvironment } from '../test/contracts/environment.ts'
import { percentile, type Row } from './lib/rows.ts'

const rounds = 100

/**
 * Sandbox start to first output with a fresh overlay, compared with a shell script that does the same with bare tools.
 */
export default {
  name: 'sandbox',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    mkdirSync(join(scratch, 'environment'))
    const provider = local.make({ pids: 256, verify: 'fresh' }, { env: {}, stateDir: join(scratch, 'state') })
    const bare = prepareBare(scratch)
    await oneLease(provider, scratch)
    await bare.once(0)
    const ours: Timing[] = []
    const theirs: Timing[] = []
    for (let i = 1; i <= rounds; i++) {
      ours.push(await oneLease(provider, scratch))
      theirs.push(await bare.once(i))
    }
    const exec = await execTimes(provider, scratch)
    rmSync(scratch, { recursive: true, force: true })
    const p50 = (timings: readonly Timing[], key: keyof Timing) =>
      percentile(
        timings.map((t) => t[key]),
        0.5,
      )
    const ratio = p50(ours, 'firstOutputMs') / p50(theirs, 'firstOutputMs')
    return [
      { name: 'start to first output p50', value: p50(ours, 'firstOutputMs'), unit: 'ms' },
      {
        name: 'start to first output p95',
        value: percentile(
          ours.map((t) => t.firstOutputMs),
          0.95,
        ),
        unit: 'ms',
      },
      { name: 'the same with bare unshare, mount and bwrap p50', value: p50(theirs, 'firstOutputMs'), unit: 'ms' },
      { name: 'ratio to bare', value: ratio, unit: 'x', goal: 'at most 2', ok: ratio <= 2 },
      { name: 'teardown p50', value: p50(ours, 'teardownMs'), unit: 'ms' },
      { name: 'bare teardown p50', value: p50(theirs, 'teardownMs'), unit: 'ms' },
      { name: 'command in a running sandbox p50', value: percentile(exec, 0.5), unit: 'ms' },
      { name: 'command in a running sandbox p95', value: percentile(exec, 0.95), unit: 'ms' },
    ]
  },
}

interface Timing {
  readonly firstOutputMs: number
  readonly teardownMs: number
}

function request(scratch: string) {
  return {
    owner: { job: 'bench', trial: 'sandbox' },
    environment: plainEnvironment(join(scratch, 'environment'), { cpus: 1, memoryMb: 512 }),
  }
}

async function oneLease(provider: SandboxProvider, scratch: string): Promise<Timing> {
  const start = performance.now()
  const lease = await provider.lease(request(scratch))
  await lease.exec(['echo', 'hello'])
  const output = performance.now()
  await lease[Symbol.asyncDispose]()
  return { firstOutputMs: output - start, teardownMs: performance.now() - output }
}

async function execTimes(provider: SandboxProvider, scratch: string): Promise<number[]> {
  const lease = await provider.lease(request(scratch))
  const times: number[] = []
  for (let i = 0; i < rounds; i++) {
    const start = performance.now()
    await lease.exec(['echo', 'hello'])
    times.push(performance.now() - start)
  }
  await lease[Symbol.asyncDispose]()
  return times
}

/** One overlay over /usr, three control groups if available, one bwrap: what a careful shell user would write. */
function prepareBare(scratch: string) {
  mkdirSync(join(scratch, 'skeleton/usr'), { recursive: true })
  const script = `
id=$1; B=${scratch}/bare/$id; mkdir -p $B/u/root $B/u/usr $B/w/root $B/w/usr $B/m
mount -t overlay overlay -o lowerdir=${scratch}/skeleton,upperdir=$B/u/root,workdir=$B/w/root $B/m
mount -t overlay overlay -o lowerdir=/usr,upperdir=$B/u/usr,workdir=$B/w/usr $B/m/usr
for c in memory pids cpu; do if [ -d /sys/fs/cgroup/$c ]; then mkdir -p /sys/fs/cgroup/$c/ot-bare/$id; echo $$ > /sys/fs/cgroup/$c/ot-bare/$id/cgroup.procs; fi; done
exec bwrap --bind $B/m / --proc /proc --dev /dev --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --unshare-pid --unshare-net --unshare-ipc --unshare-uts --cap-drop ALL --die-with-parent --new-session --clearenv -- echo hello
`
  writeFileSync(join(scratch, 'bare.sh'), script)
  return {
    once: async (i: number): Promise<Timing> => {
      const start = performance.now()
      const child = spawn('unshare', ['-m', '--propagation', 'private', 'sh', join(scratch, 'bare.sh'), String(i)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      const output = performance.now()
      await once(child, 'close')
      rmSync(join(scratch, 'bare', String(i)), { recursive: true, force: true })
      await once(
        spawn('sh', [
          '-c',
          `for c in memory pids cpu; do rmdir /sys/fs/cgroup/$c/ot-bare/${i} 2>/dev/null; done; true`,
        ]),
        'close',
      )
      return { firstOutputMs: output - start, teardownMs: performance.now() - output }
    },
  }
}
