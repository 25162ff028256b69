import type { ShellWord } from './shell.ts'

/** Programs that install packages by name. */
export type Manager = 'apt' | 'pip' | 'npm'

/** A command that installs packages. */
export interface Install {
  readonly manager: Manager
  /** The words that name packages, including those that stand for several. */
  readonly packages: readonly ShellWord[]
  /** The command to run in a sandbox to list what this manager has installed. */
  readonly ask: readonly string[]
  /** Why none of it can be pinned, or null. */
  readonly hopeless: string | null
  /** Words that name no package but still install some, with the reason. */
  readonly others: readonly { readonly word: ShellWord; readonly why: string }[]
}

/** Parses a simple command; null if it installs nothing by name. */
export function readInstall(command: readonly ShellWord[]): Install | null {
  const words = withoutPrefix(command)
  const [program] = words
  if (!program) return null
  const name = program.value.split('/').at(-1) ?? ''
  if (/^(apt-get|apt|aptitude)$/.test(name)) return readApt(words)
  if (/^pip[\d.]*$/.test(name)) return readPip(words, 1)
  if (name === 'uv' && words[1]?.value === 'pip') return readPip(words, 2)
  if (/^python[\d.]*$/.test(name)) {
    const module = words.findIndex(({ value }, index) => index > 0 && (value === '-m' || !value.startsWith('-')))
    const isPip = words[module]?.value === '-m' && words[module + 1]?.value === 'pip'
    return isPip ? readPip(words, module + 2) : null
  }
  return name === 'npm' ? readNpm(words) : null
}

const keywords = new Set('if then elif else do while until ! { time exec command nohup nice env sudo'.split(' '))

/** Drops prefixes of a command: keywords, variables, `sudo -E`, `env X=1`. */
function withoutPrefix(words: readonly ShellWord[]): readonly ShellWord[] {
  let at = 0
  for (let runsOther = false; at < words.length; at++) {
    const { value } = words[at] ?? { value: '' }
    if (/^[A-Za-z_]\w*\+?=/.test(value)) continue
    if (runsOther && value.startsWith('-')) {
      if (value === '-u') at++
      continue
    }
    if (!keywords.has(value)) break
    runsOther = value === 'sudo' || value === 'env' || value === 'nice'
  }
  return words.slice(at)
}

const aptValues = new Set(
  '-t --target-release --default-release -o --option -c --config-file -a --host-architecture'.split(' '),
)

const dpkgFields = ['Package', 'Architecture', 'Version', 'db:Status-Status']
const askDpkg = ['dpkg-query', '-W', '-f', `${dpkgFields.map((field) => `\${${field}}`).join('\\t')}\\n`]

function readApt(words: readonly ShellWord[]): Install | null {
  const { plain } = sortOut(words.slice(1), aptValues)
  const [action, ...packages] = plain
  const common = { manager: 'apt', ask: askDpkg, hopeless: null } as const
  if (action && /^(dist-|full-|safe-)?upgrade$/.test(action.value))
    return { ...common, packages: [], others: [{ word: action, why: 'upgrades all installed packages' }] }
  return action?.value === 'install' ? { ...common, packages, others: [] } : null
}

const pipValues = new Set(
  (
    '-r --requirement --requirements -c --constraint --constraints -e --editable -t --target -i --index-url --extra-index-url ' +
    '-f --find-links --platform --python-version --implementation --abi --root --prefix --src --upgrade-strategy -C ' +
    '--config-settings --config-setting --global-option --no-binary --only-binary --progress-bar --report --log --proxy --retries ' +
    '--timeout --exists-action --trusted-host --cert --client-cert --cache-dir --use-feature --use-deprecated --python -p ' +
    '--root-user-action --group --index --default-index --keyring-provider --resolution --prerelease --exclude-newer ' +
    '--link-mode --index-strategy --override --overrides --torch-backend --reinstall-package --refresh-package --extra'
  ).split(' '),
)
const elsewhere = /^(-t|--target|--root|--prefix)(=|$)/

/** `start`: the index of the first word after `pip`. */
function readPip(words: readonly ShellWord[], start: number): Install | null {
  const { plain, options } = sortOut(words.slice(start), pipValues)
  const [action, ...packages] = plain
  if (action?.value !== 'install') return null
  const others = options.flatMap(({ name, word }) => {
    if (/^(-r|--requirements?)$/.test(name)) return [{ word, why: 'a file of requirements' }]
    return /^(-e|--editable)$/.test(name) ? [{ word, why: 'installed from its source' }] : []
  })
  const program = words.slice(0, start)
  const system = options.filter(({ name }) => name === '--system' || name === '--python' || name === '-p')
  const ofUv = program.some(({ value }) => /(^|\/)uv$/.test(value))
  const asked = ofUv ? system.flatMap(({ name, word }) => (name === '--system' ? [name] : [name, word.value])) : []
  const quiet = ofUv ? [] : ['--disable-pip-version-check']
  const ask = [...program.map(({ value }) => value), 'list', '--format=json', ...quiet, ...asked]
  const far = options.find(({ name }) => elsewhere.test(name))
  const hopeless = program.some(({ dynamic }) => dynamic) ? 'a variable decides which pip it is' : null
  return {
    manager: 'pip',
    packages,
    others,
    ask,
    hopeless: hopeless ?? (far ? `installed elsewhere (${far.name})` : null),
  }
}

const npmValues = new Set(
  '--prefix --registry --loglevel --cache --userconfig --globalconfig --omit --include'.split(' '),
)

function readNpm(words: readonly ShellWord[]): Install | null {
  const { plain, options } = sortOut(words.slice(1), npmValues)
  const [action, ...packages] = plain
  if (!action || !['install', 'i', 'add'].includes(action.value)) return null
  const has = (pattern: RegExp) => options.some(({ name }) => pattern.test(name))
  const hopeless = has(/^--prefix/) ? 'installed elsewhere (--prefix)' : null
  const isGlobal = has(/^(-g|--global|--location=global)$/)
  const program = words.slice(0, 1).map(({ value }) => value)
  const ask = [...program, 'ls', '-g', '--depth=0', '--json']
  return {
    manager: 'npm',
    packages,
    others: [],
    ask,
    hopeless: hopeless ?? (isGlobal ? null : 'installed into a project, which its package-lock.json pins'),
  }
}

interface SortedOut {
  readonly plain: readonly ShellWord[]
  /** Each option with its value, or with itself if it has none. */
  readonly options: readonly { readonly name: string; readonly word: ShellWord }[]
}

function sortOut(words: readonly ShellWord[], withValue: ReadonlySet<string>): SortedOut {
  const plain: ShellWord[] = []
  const options: { name: string; word: ShellWord }[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    if (word === undefined) continue
    if (!word.value.startsWith('-')) {
      plain.push(word)
      continue
    }
    const [name = '', value] = word.value.startsWith('--') ? word.value.split(/=(.*)/s) : [word.value]
    const next = words[at + 1]
    const takesNext = value === undefined && withValue.has(name) && next !== undefined
    options.push({ name, word: takesNext ? next : word })
    if (takesNext) at++
  }
  return { plain, options }
}
