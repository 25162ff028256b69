import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseClusterYaml } from '../../formats/cluster-yaml.ts'
import { isEnding } from '../../lib/process-identity.ts'
import { frame, frameEnd } from './frame.ts'
import { renderPieces, runProgram } from './pieces.ts'
import { openTunnel } from './tunnel.ts'

/** Listens where asked; the first one exits after half a second. */
const fakeSsh = `#!${process.execPath}
const { appendFileSync, existsSync, writeFileSync } = require('node:fs')
const argv = process.argv.slice(2)
appendFileSync(DIR + '/calls', JSON.stringify(argv) + ' ' + process.pid + '\\n')
if (existsSync(DIR + '/refuse')) process.exit(255)
const [, port] = argv[argv.findIndex((word) => /^-[DL]$/.test(word)) + 1].split(':')
const isFirst = !existsSync(DIR + '/second')
writeFileSync(DIR + '/second', '')
require('node:net').createServer((socket) => socket.end()).listen(Number(port), '127.0.0.1')
if (isFirst) setTimeout(() => process.exit(255), 500)
`

function jobOf(facts: string, work: string, { patienceSec = 60 } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'ot-tunnel-'))
  writeFileSync(join(dir, 'ssh'), fakeSsh.replaceAll('DIR', JSON.stringify(dir)), { mode: 0o755 })
  const cluster = parseClusterYaml(
    `name: x\nsummary: x\nnodes: 1\ngpus_per_node: 0\ncpus_per_node: 1\ninternet_on_compute_nodes: false\n${facts}`,
    'x.yaml',
  )
  const tunnel = openTunnel(cluster).map(({ about, lines }) => ({
    about,
    lines: lines.map((line) =>
      line.replace('SECONDS + 60', `SECONDS + ${patienceSec}`).replace('sleep 5', 'sleep 0.2'),
    ),
  }))
  const unit = { launchDir: dir, job: 'unit', isArray: false, restarts: 0 }
  const script = renderPieces([frame(unit), ...tunnel, runProgram('work', ['bash', '-c', work]), frameEnd])
  const env = { PATH: `${dir}:${process.env.PATH}`, HOME: '/home/me', no_proxy: '.own' }
  return {
    dir,
    // A pipe would stay open as long as the sleeping processes that the script leaves behind.
    run: () => {
      const [out, err] = [join(dir, 'out'), join(dir, 'err')]
      const stdio = ['ignore' as const, openSync(out, 'w'), openSync(err, 'w')]
      const { status } = spawnSync('bash', ['-c', script], { env, stdio, timeout: 120_000 })
      return { status, stdout: readFileSync(out, 'utf8'), stderr: readFileSync(err, 'utf8') }
    },
    calls: () =>
      readFileSync(join(dir, 'calls'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => ({ argv: JSON.parse(line.replace(/ \d+$/, '')) as string[], pid: Number(/\d+$/.exec(line)) })),
  }
}

/** Connects to the tunnel once it was reopened, however long that takes on a loaded machine. */
const reachSecond = `
until [ "$(wc -l < "\${PATH%%:*}/calls")" -gt 1 ] && (exec 3<> /dev/tcp/127.0.0.1/\${ALL_PROXY##*:}) 2> /dev/null; do sleep 0.1; done
echo reached`

test('a job works through its tunnel, which is opened again when it breaks and ends with the job', async () => {
  const job = jobOf(
    'ssh_tunnel: { host: login01 }',
    `echo "$ALL_PROXY $all_proxy \${HTTPS_PROXY:-none} $no_proxy"${reachSecond}`,
  )
  const { status, stdout, stderr } = job.run()
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining('reopening it') })
  const [first, second] = stdout.split('\n')
  expect(first).toMatch(/^(socks5h:\/\/127\.0\.0\.1:1\d{4}) \1 none \.own,localhost,127\.0\.0\.1,::1,\S+$/)
  expect(second).toBe('reached')
  const calls = job.calls()
  expect(calls.length).toBeGreaterThan(1)
  expect(calls[0]?.argv).toEqual([
    ...['-N', '-T', '-D', expect.stringMatching(/^127\.0\.0\.1:1\d{4}$/), '-o', 'BatchMode=yes'],
    ...['-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=15', '-o', 'ServerAliveCountMax=4'],
    ...['-o', 'ConnectTimeout=15', '--', 'login01'],
  ])
  await expect.poll(() => calls.every(({ pid }) => isEnding(pid))).toBe(true)
})

test('a proxy behind the other machine is set for programs that speak HTTP', () => {
  const job = jobOf(
    'ssh_tunnel: { host: me@login01, port: 2222, identity: $HOME/.ssh/a key, forward: "proxy:3128" }',
    `echo "$HTTP_PROXY $https_proxy \${ALL_PROXY:-none}"`,
  )
  expect(job.run().stdout).toMatch(/^(http:\/\/127\.0\.0\.1:1\d{4}) \1 none\n$/)
  const [call] = job.calls()
  expect(call?.argv.slice(2, 4)).toEqual(['-L', expect.stringMatching(/^127\.0\.0\.1:1\d{4}:proxy:3128$/)])
  expect(call?.argv.slice(-6)).toEqual(['-p', '2222', '-i', '/home/me/.ssh/a key', '--', 'me@login01'])
})

test('a tunnel that cannot be opened ends the job and says so', () => {
  const job = jobOf('ssh_tunnel: { host: login01 }', 'echo worked', { patienceSec: 2 })
  writeFileSync(join(job.dir, 'refuse'), '')
  expect(job.run()).toMatchObject({
    status: 69,
    stdout: '',
    stderr: expect.stringContaining('no tunnel to login01 after 60 s: try ssh login01 from a node'),
  })
})
