import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeTask } from '../test/fakes/tasks.ts'
import { percentile, type Row } from './lib/rows.ts'

const trials = 500
/** A second job with fewer trials shows the fixed cost of starting a job. */
const fewTrials = 100
const atOnce = 16

/**
 * Five hundred oracle trials of a trivial task: the cost of orchestration besides the task's own two scripts. An
 * earlier trial builds the sandboxes' base, which happens once per machine. An ext4 without a journal adds 10 to 20 ms,
 * because for every new file the kernel skips over all those deleted in the last minutes. So the bench also measures
 * everything in memory.
 */
export default {
  name: 'trials',
  run: async (): Promise<Row[]> => [
    ...(await rowsIn(tmpdir())),
    ...(isMemory('/dev/shm') ? (await rowsIn('/dev/shm')).map(inMemory) : []),
  ],
}

const tmpfs = 0x01021994
const isMemory = (dir: string) => existsSync(dir) && statfsSync(dir).type === tmpfs
const inMemory = (row: Row): Row => ({ ...row, name: `in memory: ${row.name}` })

async function rowsIn(place: string): Promise<Row[]> {
  const scratch = mkdtempSync(join(place, 'ot-bench-'))
  const task = await writeTask(scratch, 'trivial')
  const scripts =
    cpuMs(
      `for i in $(seq 200); do mkdir -p ${scratch}/logs; bash -c '(true) > ${scratch}/logs/out 2>&1'; bash -c '(true) > ${scratch}/logs/out 2>&1'; done`,
    ) / 200
  const bare = bareCpuMs(scratch)
  const first = await runTrials(task, scratch, 1)
  const few = await runTrials(task, scratch, fewTrials)
  const measured = await runTrials(task, scratch, trials)
  const scored = countScored(join(scratch, `jobs/${trials}`))
  rmSync(scratch, { recursive: true, force: true })
  const perTrial = measured.cpuMs / trials - scripts
  const perLaterTrial = (measured.cpuMs - few.cpuMs) / (trials - fewTrials) - scripts
  const early = percentile(measured.rssMb.slice(0, Math.ceil(measured.rssMb.length / 3)), 0.9)
  const late = percentile(measured.rssMb.slice(-Math.ceil(measured.rssMb.length / 3)), 0.9)
  return [
    { name: 'CPU of the first trial of a machine, its base made', value: first.cpuMs, unit: 'ms' },
    { name: 'trials that scored', value: scored, unit: '' },
    { name: 'trials per second', value: trials / measured.sec, unit: '/s' },
    { name: 'CPU per trial, all in', value: measured.cpuMs / trials, unit: 'ms' },
    { name: 'of that the task’s two scripts, run bare', value: scripts, unit: 'ms' },
    { name: 'orchestration CPU per trial', value: perTrial, unit: 'ms', goal: 'at most 20', ok: perTrial <= 20 },
    { name: `the same after the first ${fewTrials} trials`, value: perLaterTrial, unit: 'ms' },
    ...(bare === null ? [] : bareRows(measured.cpuMs / trials, bare)),
    { name: 'memory p90, first third of the run', value: early, unit: 'MiB' },
    { name: 'memory p90, last third of the run', value: late, unit: 'MiB', goal: 'flat', ok: late < early * 1.3 },
  ]
}

function runTrials(task: string, scratch: string, count: number) {
  const which = ['-p', task, '-a', 'oracle', '-e', 'local', '-n', String(atOnce), '-k', String(count)]
  const where = ['-o', join(scratch, 'jobs'), '--job-name', String(count), '-q']
  return measure([resolve('bin/ot-agent.js'), 'run', ...which, ...where], join(scratch, 'cache'))
}

const bareTrials = 50

/**
 * The same work without a harness: an overlay, and one bubblewrap for each of the two scripts. Null if this user may
 * not mount.
 */
function bareCpuMs(scratch: string): number | null {
  if (process.getuid?.() !== 0) return null
  const box = join(scratch, 'bare')
  const links = ['bin', 'sbin', 'lib', 'lib64'].map((name) => `--symlink usr/${name} /${name}`).join(' ')
  const bwrap = `bwrap --unshare-all --bind ${box}/merged /usr ${links} --bind ${box}/logs /logs --proc /proc --dev /dev`
  const script = `${bwrap} -- bash -c '(true) > /logs/out 2>&1'`
  writeFileSync(
    join(scratch, 'bare.sh'),
    `set -e
for i in $(seq ${bareTrials}); do
  mkdir -p ${box}/upper ${box}/work ${box}/merged ${box}/logs
  unshare --mount sh -ec "mount -t overlay -o lowerdir=/usr,upperdir=${box}/upper,workdir=${box}/work overlay ${box}/merged
    ${script}
    ${script}"
  rm -rf ${box}
done
`,
  )
  return cpuMs(`bash ${scratch}/bare.sh`) / bareTrials
}

function bareRows(perTrialMs: number, bareMs: number): Row[] {
  const ratio = perTrialMs / bareMs
  return [
    { name: 'a bare overlay and two bubblewrap calls', value: bareMs, unit: 'ms' },
    { name: 'times that', value: ratio, unit: 'x', goal: 'at most 2', ok: ratio <= 2 },
  ]
}

/** CPU time of a shell line and everything it waits for. */
function cpuMs(line: string): number {
  const timed = spawnSync('bash', ['-c', `TIMEFORMAT="%U %S"; time { ${line}; }`], { encoding: 'utf8' })
  return parseTimes(timed.stderr)
}

function parseTimes(text: string): number {
  const [user = 0, system = 0] = text.trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
  return (user + system) * 1000
}

/** Waits for every descendant, even orphans: the program that starts sandboxes ends after the one it works for. */
const timed = `
syscall(shift() + 0, 36, 1, 0, 0, 0) == 0 or die "prctl: $!";
my $pid = fork;
exec @ARGV if $pid == 0;
1 while wait != -1;
my (undef, undef, $user, $system) = times;
print STDERR "\n$user $system\n";
`
const prctl: Readonly<Record<string, string>> = { x64: '157', arm64: '167' }

/** Runs a command, sampling its memory on the way and reading its CPU time, children included, at the end. */
async function measure(argv: readonly string[], cache: string) {
  const start = performance.now()
  const child = spawn('perl', ['-e', timed, prctl[process.arch] ?? '', process.execPath, ...argv], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, XDG_CACHE_HOME: cache },
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const rssMb: number[] = []
  const timer = setInterval(() => rssMb.push(...childRssMb(child.pid ?? 0)), 250)
  await once(child, 'close')
  clearInterval(timer)
  return { cpuMs: parseTimes(text), sec: (performance.now() - start) / 1000, rssMb }
}

function childRssMb(parent: number): number[] {
  try {
    const [pid] = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').split(' ')
    return [Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024]
  } catch {
    return []
  }
}

function countScored(jobDir: string): number {
  const results = readdirSync(jobDir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return results.filter(
    ({ name }) =>
      JSON.parse(readFileSync(join(jobDir, name, 'result.json'), 'utf8')).verifier_result?.rewards.reward === 1,
  ).length
}
