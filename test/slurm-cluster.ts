import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A real Slurm cluster of a few nodes on this machine's loopback. */
export interface SlurmCluster {
  readonly dir: string
  /** For sbatch, squeue and the like, and for programs that call them. */
  readonly env: NodeJS.ProcessEnv
  readonly nodes: readonly string[]
  slurm(program: string, ...args: string[]): string
  /** Kills a node's daemon and its job supervisors, as a crash of the node would; the jobs' own processes survive. */
  killNode(name: string): Promise<void>
  stop(): Promise<void>
}

/** Starts munge, a controller and four nodes with their own ports and files below `dir`. */
export async function startSlurm(dir: string, count = 4): Promise<SlurmCluster> {
  const nodes = Array.from({ length: count }, (_, i) => `n${i + 1}`)
  const [ctld = 0, ...ports] = await freePorts(count + 1)
  for (const each of ['state', 'log', 'munge', ...nodes.map((node) => `spool/${node}`)])
    mkdirSync(join(dir, each), { recursive: true })
  chmodSync(join(dir, 'munge'), 0o711)
  writeFileSync(join(dir, 'munge/key'), randomBytes(1024), { mode: 0o400 })
  writeFileSync(join(dir, 'slurm.conf'), configOf(dir, ctld, nodes, ports))
  writeFileSync(join(dir, 'cgroup.conf'), 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\n')
  const env = { ...process.env, SLURM_CONF: join(dir, 'slurm.conf') }
  const files = ['key-file=key', 'socket=socket', 'pid-file=munged.pid', 'log-file=munged.log', 'seed-file=seed']
  const munge = files.map((each) => `--${each.replace('=', `=${dir}/munge/`)}`)
  execFileSync('/usr/sbin/munged', ['--force', ...munge])
  start('slurmctld', ['-c'], env)
  for (const node of nodes) start('slurmd', ['-N', node], env)
  const slurm = (program: string, ...args: string[]) => execFileSync(program, args, { env, encoding: 'utf8' })
  await until('idle nodes', () =>
    slurm('sinfo', '-h', '-N', '-o', '%T')
      .trim()
      .split('\n')
      .every((state) => state === 'idle'),
  )
  return {
    dir,
    env,
    nodes,
    slurm,
    killNode: async (name) => {
      const daemon = pidIn(join(dir, `slurmd.${name}.pid`))
      const supervisors = supervisorsOf(join(dir, 'spool', name))
      for (const pid of [daemon, ...supervisors]) if (pid !== null) process.kill(pid, 'SIGKILL')
    },
    stop: async () => {
      spawnSync('scancel', ['--user=root', '--signal=KILL', '--full'], { env })
      for (const node of nodes) await end(join(dir, `slurmd.${node}.pid`))
      await end(join(dir, 'slurmctld.pid'))
      await end(join(dir, 'munge/munged.pid'))
    },
  }
}

function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const done = spawnSync(`/usr/sbin/${program}`, args, { env, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${program} did not start: ${done.stderr}`)
}

function configOf(dir: string, ctld: number, nodes: readonly string[], ports: readonly number[]): string {
  return `ClusterName=loop
SlurmctldHost=${hostname()}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=${ctld}
AuthType=auth/munge
AuthInfo=socket=${dir}/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPidFile=${dir}/slurmctld.pid
SlurmdPidFile=${dir}/slurmd.%n.pid
SlurmctldLogFile=${dir}/log/slurmctld.log
SlurmdLogFile=${dir}/log/slurmd.%n.log
StateSaveLocation=${dir}/state
SlurmdSpoolDir=${dir}/spool/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0,requeue_setup_env_fail
MinJobAge=900
KillWait=5
JobRequeue=1
SlurmctldTimeout=30
SlurmdTimeout=10
SlurmdParameters=config_overrides
${nodes.map((node, i) => `NodeName=${node} NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=8 RealMemory=4000 State=UNKNOWN`).join('\n')}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
`
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => Number(Object(server.address()).port))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function pidIn(file: string): number | null {
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : Number.NaN
  return Number.isInteger(pid) && pid > 1 && existsSync(`/proc/${pid}`) ? pid : null
}

/** The supervisors of a node's jobs hold a socket in its spool directory. */
function supervisorsOf(spool: string): number[] {
  const listed = spawnSync('ss', ['-xlpH'], { encoding: 'utf8' }).stdout ?? ''
  return listed
    .split('\n')
    .filter((line) => line.includes(`${spool}/`))
    .flatMap((line) => [...line.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid)))
}

async function end(pidFile: string): Promise<void> {
  const pid = pidIn(pidFile)
  if (pid === null) return
  process.kill(pid, 'SIGTERM')
  for (let i = 0; i < 50 && existsSync(`/proc/${pid}`); i++) await wait(100)
  if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
}

/** Waits until a condition holds; an exception means not yet. On a timeout, the error says what it waited for. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, sec = 60): Promise<void> {
  const last = Date.now() + sec * 1000
  const look = async () => isSo()
  for (;;) {
    const found = await look().catch((error: unknown) => String(error))
    if (found === true) return
    if (Date.now() > last) throw new Error(`waited ${sec} s in vain for ${what}${found === false ? '' : `: ${found}`}`)
    await wait(250)
  }
}
