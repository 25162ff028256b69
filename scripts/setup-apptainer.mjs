// Downloads a real Apptainer for the tests, which Debian only has in its unstable suite: node
// scripts/setup-apptainer.mjs
// Unpacks it under node_modules/.cache, with the libraries it was built for, and changes nothing else on this machine.
// Without root, apt-get or that suite, it says so and exits with 0: the tests that need it are skipped by name.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'

const cache = resolve(import.meta.dirname, '../node_modules/.cache')
const home = join(cache, 'apptainer')
const program = 'usr/bin/apptainer'
/** System tools that it runs, by Debian package. */
const tools = { mksquashfs: 'squashfs-tools', newuidmap: 'uidmap', patchelf: 'patchelf' }

if (!existsSync(join(home, program)) && !onPath('apptainer')) main()

function main() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !onPath('apt-get')) {
    say('no Apptainer here, and only root on Debian can get one')
    return
  }
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'apptainer-draft-'))
  try {
    say("installing Debian's Apptainer under node_modules/.cache ...")
    install(work)
    rmSync(home, { recursive: true, force: true })
    renameSync(join(work, 'root'), home)
  } catch (error) {
    say(`no Apptainer: ${error.message.split('\n')[0]}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function install(work) {
  const missing = Object.keys(tools).filter((tool) => !onPath(tool))
  if (missing.length > 0)
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing.map((tool) => tools[tool])])
  const env = { ...process.env, APT_CONFIG: unstable(work) }
  run('apt-get', ['update', '-qq'], { env })
  const debs = join(work, 'debs')
  mkdirSync(debs)
  run('apt-get', ['download', '-qq', 'apptainer', 'libc6', 'libseccomp2', 'libsqlite3-0'], { env, cwd: debs })
  const [root, built] = [join(work, 'root'), join(work, 'built')]
  for (const deb of readdirSync(debs))
    run('dpkg-deb', ['-x', join(debs, deb), deb.startsWith('apptainer_') ? root : built])
  const [multiarch = ''] = readdirSync(join(root, 'usr/lib'))
  const libraries = join(root, 'libraries')
  cpSync(join(built, 'usr/lib', multiarch), libraries, { recursive: true, verbatimSymlinks: true })
  for (const binary of [program, `usr/lib/${multiarch}/apptainer/bin/starter`]) {
    const path = join(root, binary)
    const loader = basename(run('patchelf', ['--print-interpreter', path]).trim())
    const lasting = join(home, 'libraries')
    run('patchelf', ['--force-rpath', '--set-interpreter', join(lasting, loader), '--set-rpath', lasting, path])
  }
  // A relocated Apptainer looks for its files below the folders of its programs.
  for (const dir of ['usr', 'usr/lib']) {
    cpSync(join(root, 'etc'), join(root, dir, 'etc'), { recursive: true, verbatimSymlinks: true })
    mkdirSync(join(root, dir, 'var/lib/apptainer/mnt/session'), { recursive: true })
  }
  chmodSync(root, 0o755)
}

/** Settings that make apt-get see only the unstable suite of the archive that this machine uses. */
function unstable(work) {
  const uris = run('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']).split('\n')
  const archive = uris.find((uri) => /\/debian\/?$/.test(uri))
  if (archive === undefined) throw new Error('this machine has no package lists of Debian')
  for (const dir of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(work, dir), { recursive: true })
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg'
  writeFileSync(join(work, 'sources.list'), `deb [signed-by=${keys}] ${archive} unstable main\n`)
  const settings = {
    'Dir::State::lists': join(work, 'lists'),
    'Dir::Cache': join(work, 'cache'),
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Acquire::Languages': 'none',
    'APT::Sandbox::User': 'root',
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";\n`)
  writeFileSync(join(work, 'apt.conf'), lines.join(''))
  return join(work, 'apt.conf')
}

function run(command, args, options = {}) {
  const env = { ...process.env, ...options.env, DEBIAN_FRONTEND: 'noninteractive' }
  const done = spawnSync(command, args, { ...options, env, encoding: 'utf8', timeout: 300_000 })
  if (done.status === 0) return done.stdout
  throw new Error(`${command} ${args[0]}: ${(done.stderr || done.stdout || String(done.error)).trim()}`)
}

function onPath(name) {
  return (process.env.PATH ?? '').split(':').some((dir) => dir !== '' && existsSync(join(dir, name)))
}

function say(line) {
  process.stderr.write(`${line}\n`)
}
