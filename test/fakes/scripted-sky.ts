import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** A `sky` for jobs on this machine: runs them as SkyPilot would, lists and cancels them. */
const scripted = `#!/usr/bin/env node
const fs = require('node:fs'), { spawn } = require('node:child_process')
const { parse } = require(${JSON.stringify(resolve('node_modules/yaml'))})
const [dir, [, word, ...rest]] = [__dirname, process.argv.slice(2)]
const at = (name) => dir + '/' + name + '.job'
const all = () => fs.readdirSync(dir).filter((n) => n.endsWith('.job')).map((n) => JSON.parse(fs.readFileSync(dir + '/' + n, 'utf8')))
if (word === 'launch') {
  const { name, run, resources } = parse(fs.readFileSync(rest.at(-1), 'utf8'))
  if (resources.infra === 'full') { console.error('sky.exceptions.ResourcesUnavailableError: no such machine'); process.exit(1) }
  const child = spawn('bash', ['-c', run + '\\necho $? > ' + at(name) + '.end'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH, RAN: dir + '/ran' } })
  fs.writeFileSync(at(name), JSON.stringify({ job_name: name, status: 'RUNNING', pid: child.pid }))
  child.unref()
} else if (word === 'queue') {
  console.log('Fetching managed job statuses...')
  console.log(JSON.stringify(all().map((job) => fs.existsSync(at(job.job_name) + '.end') ? { ...job, status: fs.readFileSync(at(job.job_name) + '.end', 'utf8').trim() === '0' ? 'SUCCEEDED' : 'FAILED', failure_reason: null } : job), null, 2))
} else {
  const name = rest.at(-1), job = all().find((each) => each.job_name === name)
  if (!job) { console.error('No running job found with name ' + name); process.exit(1) }
  fs.writeFileSync(at(name), JSON.stringify({ ...job, status: 'CANCELLED' }))
  // A machine that goes takes everything with it: all processes of the job's session, also those in a group of their own.
  const sessionOf = (pid) => { try { return Number(fs.readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ').at(-1).split(' ')[3]) } catch { return 0 } }
  for (const pid of fs.readdirSync('/proc').filter((n) => /^\\d+$/.test(n)).map(Number).filter((pid) => sessionOf(pid) === job.pid)) {
    try { process.kill(pid, 'SIGKILL') } catch {}
  }
}
`

/** Installs a `sky` into a folder for use on PATH; it stores its jobs there. */
export function installSky(dir: string): void {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'sky'), scripted)
  chmodSync(join(dir, 'sky'), 0o755)
}
