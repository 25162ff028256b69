// Makes sure that system dependencies are installed: node scripts/setup.mjs [--required] PART...
// Installs what is missing with apt-get if run as root; otherwise prints the command to run.
// Exits with 0 even then, because tests that need a missing part are skipped by name; with --required it exits with 1.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Each system part: its programs, with alternative names, and the Debian package that provides each. */
const parts = {
  bubblewrap: {
    bwrap: 'bubblewrap',
    unshare: 'util-linux',
    nsenter: 'util-linux',
    setpriv: 'util-linux',
    mount: 'mount',
    // Gives a sandbox a network of its own.
    pasta: 'passt',
  },
  git: { git: 'git' },
  // Rebuilds the program that starts sandboxes; a test compares it with the one in the package.
  compiler: { gcc: 'build-essential' },
  // Container engines, which tests start themselves.
  containers: { podman: 'podman', dockerd: 'docker.io', runc: 'runc' },
  // Starts the containers of tasks that have several.
  compose: { 'docker-compose': 'docker-compose' },
  // A cluster on this machine's loopback interface, which tests start themselves.
  slurm: { slurmctld: 'slurmctld', slurmd: 'slurmd', sbatch: 'slurm-client', munged: 'munge', ss: 'iproute2' },
  // Readers of dumps and documents. The 7-Zip program has one name in Debian 12, the other in Debian 13.
  readers: { '7zz|7z': '7zip', pdftotext: 'poppler-utils' },
  // A database server, which a test starts itself.
  database: { pg_createcluster: 'postgresql', setpriv: 'util-linux' },
  // A browser in which tests open the viewer.
  browser: { chromium: 'chromium' },
  // Shells in which tests press Tab.
  shells: { zsh: 'zsh', fish: 'fish' },
  // Programs that tests use in a terminal.
  editors: { vi: 'vim-tiny', less: 'less', python3: 'python3', tmux: 'tmux' },
}

const required = process.argv.includes('--required')
const asked = process.argv.slice(2).filter((argument) => argument !== '--required')
process.exitCode = main(asked)

function main(names) {
  const unknown = names.find((name) => !Object.hasOwn(parts, name))
  if (unknown !== undefined || names.length === 0) {
    say(`error: ${unknown === undefined ? 'no part named' : `unknown part ${JSON.stringify(unknown)}`}`)
    say(`hint: known parts: ${Object.keys(parts).join(', ')}`)
    return 2
  }
  const before = missing(names)
  if (before.packages.length === 0) return 0
  const problem = install(before.packages)
  const after = missing(names)
  if (after.packages.length === 0) return 0
  say(`missing: ${after.programs.join(', ')}${problem === null ? '' : ` (${problem})`}`)
  say(`run this as root: ${installCommand(after.packages)}`)
  if (!required) say('going on without; tests that need the missing parts are listed as skipped')
  return required ? 1 : 0
}

function missing(names) {
  const wanted = names.flatMap((name) => Object.entries(parts[name]))
  const absent = wanted.filter(([names]) => !names.split('|').some(onPath))
  return {
    programs: absent.map(([names]) => names.replaceAll('|', ' or ')),
    packages: [...new Set(absent.map(([, debian]) => debian))],
  }
}

/** Installs Debian packages; returns why it could not, or null. */
function install(packages) {
  if (process.platform !== 'linux') return `this is ${process.platform}, the parts are for Linux`
  if (!onPath('apt-get')) return "no apt-get here; package names below are Debian's"
  if (process.getuid?.() !== 0) return 'not root'
  say(`installing ${packages.join(' ')} with apt-get ...`)
  // A stale or unreachable package list is no reason to stop: the install below decides.
  aptGet(['update', '-qq'])
  return aptGet(['install', '-y', '-qq', '--no-install-recommends', ...packages]) ? null : 'apt-get install failed'
}

/** Runs apt-get quietly, waiting for another one to finish; its output is shown only when it fails. */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const done = spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], { env, encoding: 'utf8' })
  if (done.status !== 0) say([`apt-get ${args[0]} failed:`, done.stdout, done.stderr].join('\n').trimEnd())
  return done.status === 0
}

function installCommand(packages) {
  return `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`
}

/** An ordinary user's PATH on Debian lacks the sbin directories, where some programs live. */
function onPath(program) {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  return dirs.some((dir) => dir !== '' && isExecutable(join(dir, program)))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Messages go to stderr, so that stdout remains the command's own. */
function say(line) {
  process.stderr.write(`${line}\n`)
}
