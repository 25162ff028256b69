import { BoundaryError } from './errors.ts'

/**
 * One file or link of a sandbox that differs from its image. A directory that stays a directory is no change: what is
 * in it is. A directory that became something else is `modified`; when one is removed, only the directory itself is
 * `removed`.
 */
export interface SystemChange {
  readonly path: string
  readonly change: 'modified' | 'added' | 'removed'
}

/** System files that were restored, at most `listedChanges` of them. */
export interface SystemChanges {
  readonly files: readonly SystemChange[]
  /** How many there were, including those not listed. */
  readonly total: number
}

/** How many changes a list names at most. */
export const listedChanges = 1000

/** When more files and directories of a sandbox differ from its image, its system files are not looked for. */
export const changedFilesLimit = 1_000_000

/**
 * The failure when there are more. Tests do not run then: a file that was not examined could be part of their system.
 */
export function tooManyChanges(limit = changedFilesLimit): BoundaryError {
  const message = `the agent created or changed more than ${limit} files, too many to look for system files`
  return new BoundaryError('agent', message, { code: 'TooManyFilesError', retryable: false })
}

/** What must be known about a sandbox to tell its system files from other files. */
export interface SystemView {
  /** The directories of the image's PATH. */
  readonly path: readonly string[]
  imageHas(path: string): Promise<boolean> | boolean
  /** The beginning of a changed file; empty for anything but a regular file. 64 KiB are enough. */
  changedText(path: string): Promise<string> | string
}

/** What decides about a change: its path alone, the image, or the content of the file. */
export type Rule = 'system' | 'ordinary' | { readonly shadows: readonly string[] } | { readonly says: RegExp }

/**
 * Whether a changed file is part of the system that runs tests, and must match the image while they run: programs and
 * libraries of the image, files that decide how programs start, and new files that shadow either. What is merely new,
 * such as an installed package, is not.
 */
export async function isSystemFile(change: SystemChange, view: SystemView): Promise<boolean> {
  const rule = ruleFor(change, view.path)
  if (typeof rule === 'string') return rule === 'system'
  if ('says' in rule) return rule.says.test(await view.changedText(change.path))
  for (const path of rule.shadows) if (await view.imageHas(path)) return true
  return false
}

/**
 * Whether a file is only what Python compiled from a source. It is never part of a solution, so tests need not run
 * again without it; but Python trusts it, so it is restored like any other.
 */
export function isBytecode(path: string): boolean {
  return bytecode.test(path)
}

/** The rule for a change, by its path alone; `path` holds the directories of the image's PATH. */
export function ruleFor({ path, change }: SystemChange, searchPath: readonly string[]): Rule {
  if (startup.test(path) || isHomeStartup(path) || isGitHook(path)) return 'system'
  if (gitConfig.test(path)) return change === 'removed' ? 'ordinary' : { says: gitPrograms }
  if (goSettings.test(path)) return change === 'removed' ? 'ordinary' : { says: goPrograms }
  const programs = new Set([...programDirs, ...searchPath.filter((dir) => /^\/./.test(dir)).map(withoutSlash)])
  const [dir, name] = split(path)
  if (change !== 'added') {
    const inImage = parts.test(path) || packages.test(path) || programs.has(dir) || isOnTheWay(path, programs)
    return inImage || packageScripts.test(path) ? 'system' : 'ordinary'
  }
  if (entryPoints.test(path)) return { says: /^[ \t]*\[pytest11\]/m }
  if (programs.has(dir)) return { shadows: [...programs].filter((it) => it !== dir).map((it) => `${it}/${name}`) }
  if (/^lib.*\.(?:so(\.|$)|a$)|^ld-.*\.so/.test(name) && libraries.test(path))
    return { shadows: libraryDirs.map((it) => `${it}/${name}`).filter((it) => it !== path) }
  const shadows = [...shadowedModules(path, searchPath), ...shadowedHeaders(path)]
  if (shadows.length > 0) return { shadows }
  // A link that takes the place of a missing directory and leads elsewhere.
  return isOnTheWay(path, programs) || pythonDir.test(path) ? 'system' : 'ordinary'
}

/** Programs and libraries of the image, and links that lead to them. */
const parts =
  /^\/(?:s?bin|lib(?:32|64|x32)?|usr\/(?:s?bin|lib(?:32|64|x32|exec)?|include|games|share\/(?:perl5?|python3?|nodejs|node_modules|git-core|bash-completion))|usr\/local\/(?:s?bin|lib(?:32|64|exec)?|include|go|cargo|rustup)|etc\/(?:alternatives|pam\.d|security))(?:\/|$)/

/** Packages and standard libraries of an interpreter, wherever it is installed. */
const packages = /\/(?:site|dist)-packages(?:\/|$)|\/lib(?:64)?\/python\d[\d.]*(?:\/|$)/
const pythonDir = /\/(?:python\d[\d.]*|(?:site|dist)-packages)$/

const bytecode = /\/__pycache__\/[^/]+\.pyc$/

/** Scripts that dpkg runs by itself, even when another package is installed. */
const packageScripts = /^\/var\/lib\/dpkg\/info\/[^/]+\.(?:pre|post)(?:inst|rm)$/

/** Where existing programs find new libraries. */
const libraries = /^\/(?:usr\/(?:local\/)?)?lib(?:32|64|x32)?\//
const libraryDirs = ['', '/x86_64-linux-gnu', '/aarch64-linux-gnu'].flatMap((below) =>
  ['/lib', '/usr/lib', '/usr/local/lib', '/lib64', '/usr/lib64'].map((dir) => `${dir}${below}`),
)

/** Where programs are looked up by name, whatever PATH an image sets. */
const programDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Files that decide how programs start, including new ones. */
const startup = new RegExp(
  [
    // The dynamic loader and name services.
    '^/etc/(?:ld\\.so\\.[^/]+(?:/.*)?|ld-nix\\.so\\.preload|ld-musl-[^/]+\\.path|suid-debug|nsswitch\\.conf)$',
    // If nsswitch.conf names a service that the image lacks, every program that looks up a user still searches for its
    // library.
    '/libnss_[^/]+\\.so(?:\\.|$)',
    '/glibc-hwcaps(?:/|$)|^/(?:usr/)?lib(?:/[^/]+)?/gconv/gconv-modules(?:\\.|$)',
    // Shells and logins.
    '^/etc/(?:profile|bash\\.bashrc|bashrc|bash\\.bash_logout|environment|inputrc|zprofile|zshenv|zshrc|csh\\.cshrc|csh\\.login)$',
    '^/etc/(?:profile\\.d|zsh|fish|environment\\.d|alternatives/(?:sh|bash|awk|python3?|node|nodejs|pager|editor))(?:/|$)',
    // Apptainer runs these at each start and before each command.
    '^/\\.singularity\\.d(?:/|$)',
    // Interpreters, package managers, git.
    '^/etc/(?:python[^/]*|perl|gitconfig|pip\\.conf|uv|xdg/(?:pip|git|uv)|npmrc|npm|wgetrc)(?:/|$)|^/usr/(?:local/)?etc/(?:npmrc|gitconfig)$',
    '/(?:site|user)customize(?:\\.py|/__init__\\.py|\\.[^/]*\\.so|\\.pyc)?$|/(?:site|dist)-packages/[^/]+\\.(?:pth|egg-link|start)$',
    '^/etc/(?:apt/apt\\.conf|dpkg/dpkg\\.cfg)(?:\\.d/.*)?$|/lib(?:64)?/python\\d+\\.zip$',
    '/sitecustomize\\.pl$|/pyvenv\\.cfg$|^/usr/share/git-core/templates/',
    // pytest, wherever it is started.
    '/conftest\\.py$|/\\.?pytest\\.(?:ini|toml)$|^/(?:tox\\.ini|setup\\.cfg|setup\\.py|pyproject\\.toml)$',
  ].join('|'),
)
const entryPoints = /\.(?:dist|egg)-info\/entry_points\.txt$/

const homeFiles = new Set(
  '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv .zprofile .zlogin .kshrc .mkshrc .cshrc .tcshrc .login .pam_environment .gitconfig .npmrc .yarnrc .pypirc .pydistutils.cfg .pythonrc .pythonrc.py .pdbrc .perldb .curlrc .wgetrc .gdbinit .irbrc .Rprofile .Renviron .condarc .sqliterc .psqlrc .jq .rspec .gemrc'.split(
    ' ',
  ),
)
/** Below a home directory: the files, and links that replace directories on the way to them. */
const homePlaces =
  /^(?:\.config(?:\/curlrc|\/(?:git|pip|uv|fish|environment\.d|npm)(?:\/.*)?)?|\.gradle(?:\/init\.(?:d(?:\/.*)?|gradle(?:\.kts)?))?|\.pip(?:\/.*)?|\.ssh(?:\/(?:config|rc))?|\.cargo(?:\/(?:config(?:\.toml)?|env))?|\.local(?:\/(?:lib|bin|bin\/env))?|\.local\/lib\/python[^/]*(?:\/site-packages)?)$/

function isHomeStartup(path: string): boolean {
  const below = /^\/(?:root|home\/[^/]+)\/(.+)$/.exec(path)?.[1]
  return below !== undefined && (homeFiles.has(below) || homePlaces.test(below))
}

/** Programs that git runs by itself. */
function isGitHook(path: string): boolean {
  return /\.git(?:\/modules\/.+)?\/hooks(?:\/[^/]+)?$/.test(path) && !path.endsWith('.sample')
}
const gitConfig = /\.git\/(?:modules\/.+\/)?config(?:\.worktree)?$/
const gitPrograms =
  /(?:^|\])[ \t]*(?:hookspath|fsmonitor|sshcommand|gitproxy|editor|pager|askpass|path|textconv|external|program|packobjectshook|clean|smudge|process)\s*=/im

/** What `go env -w` writes: some of it names programs to run. */
const goSettings = /^\/(?:root|home\/[^/]+)\/\.config\/go\/env$/
const goPrograms = /^[ \t]*(?:GOFLAGS|GOROOT|GOTOOLDIR|GOTOOLCHAIN|CC|CXX|FC|AR|PKG_CONFIG|GO_EXTLINK_ENABLED)\s*=/m

/** A place where Python looks for modules, and what is in it. */
const modulePlace =
  /^(?<lib>.*\/lib(?:64)?)\/python(?<version>\d[\d.]*)\/(?:(?<below>lib-dynload|site-packages|dist-packages)\/)?(?<rest>.+)$/

/**
 * Modules that a new file shadows if the image has one of them: within a directory a package wins over a library, and a
 * library over a source; and some directories come before others. Bytecode shadows its source.
 */
function shadowedModules(path: string, searchPath: readonly string[]): string[] {
  const { lib = '', version = '', below, rest = '' } = modulePlace.exec(path)?.groups ?? {}
  if (rest === '') return /\.pmc?$/.test(path) ? shadowedPerl(path) : []
  const [dir, file] = split(path)
  if (bytecode.test(path)) return [`${split(dir)[0]}/${file.replace(/\..*$/, '')}.py`]
  const [, stem = '', kind = ''] = /^([^.]+)\.(?:[^/]*\.)?(py|pyc|so)$/.exec(file) ?? []
  if (stem === '') return []
  const libraries = libraryEndings(version)
  const beside = kind === 'so' ? [`${dir}/${stem}.py`] : []
  const isPackage = stem === '__init__'
  const module = isPackage ? dir : `${dir}/${stem}`
  if (isPackage) beside.push(...['.py', ...libraries].map((ending) => `${module}${ending}`))
  const isTop = !rest.replace(/\/?__init__\.[^/]*$/, '').includes('/')
  const name = split(module)[1]
  const later = isTop ? laterPlaces({ lib, version, below }, searchPath) : []
  const isAmongOwn = isTop && (below === undefined || below === 'lib-dynload') && !splitOff.has(name)
  return [
    ...beside,
    ...later.flatMap((place) => ['', '.py', ...libraries].map((end) => `${place}/${name}${end}`)),
    // Every environment of this Python looks here first, wherever it is: a complete standard library leaves nothing
    // else to add here.
    ...(isAmongOwn ? [`${lib}/python${version}/unittest`] : []),
  ]
}

/** Parts of the standard library that Debian ships as separate packages. */
const splitOff = new Set('distutils ensurepip idlelib lib2to3 test tkinter turtle turtledemo venv'.split(' '))

function libraryEndings(version: string): string[] {
  const tag = version.replaceAll('.', '')
  const machines = ['x86_64', 'aarch64'].flatMap((machine) => [`${machine}-linux-gnu`, `${machine}-linux-musl`])
  return [...machines.map((machine) => `.cpython-${tag}-${machine}.so`), '.abi3.so', '.so']
}

/**
 * Where Python looks after a place: a user's packages come before system-wide ones, including those of environments,
 * and Debian's own come last.
 */
function laterPlaces({ lib, version, below }: ModulePlace, searchPath: readonly string[]): string[] {
  const own = `${lib}/python${version}`
  const debian = ['/usr/local/lib', '/usr/lib'].map((each) => `${each}/python${version}/dist-packages`)
  const all = [...debian, '/usr/lib/python3/dist-packages']
  if (below === 'dist-packages') return all.filter((place) => place !== `${own}/${below}` && lib !== '/usr/lib')
  const homes = ['/usr/local/bin', ...searchPath].flatMap((dir) => /^(.+)\/bin\/?$/.exec(dir)?.[1] ?? [])
  const environments = homes.map((home) => `${home}/lib/python${version}/site-packages`)
  if (below === 'site-packages') return /\/\.local\/lib$/.test(lib) ? [...new Set([...environments, ...all])] : []
  const inside = ['site-packages', 'dist-packages'].map((each) => `${own}/${each}`)
  const dynamic = below === undefined ? [`${own}/lib-dynload`] : []
  return [...new Set([...dynamic, ...inside, ...environments, ...(lib === '/usr/lib' ? all : [])])]
}

interface ModulePlace {
  readonly lib: string
  readonly version: string
  readonly below: string | undefined
}

/** Versions of Perl in Debian and Ubuntu, for paths that name none. */
const perlVersions = ['5.32.1', '5.34.0', '5.36.0', '5.38.2', '5.40.1']
const perlPlace =
  /^\/usr\/(?:local\/(?:share|lib\/[^/]+)\/perl\/(?<local>[\d.]+)|lib\/[^/]+\/(?:perl5?\/(?<own>[\d.]+)|perl-base)|share\/perl5)\/(?<name>.+)$/

/** The same for Perl, which searches these places first; compiled modules also come before their sources. */
function shadowedPerl(path: string): string[] {
  const { local, own, name } = perlPlace.exec(path)?.groups ?? {}
  const beside = path.endsWith('.pmc') ? [path.slice(0, -1)] : []
  if (name === undefined) return beside
  const versions = new Set([...perlVersions, ...(local ? [local] : []), ...(own ? [own] : [])])
  const dirs = ['x86_64', 'aarch64'].flatMap((machine) => {
    const arch = `/usr/lib/${machine}-linux-gnu`
    return [`${arch}/perl-base`, ...[...versions].map((version) => `${arch}/perl/${version}`)]
  })
  const all = [...dirs, ...[...versions].map((version) => `/usr/share/perl/${version}`), '/usr/share/perl5']
  const module = name.replace(/c$/, (end) => (name.endsWith('.pmc') ? '' : end))
  return [...beside, ...all.map((dir) => `${dir}/${module}`).filter((other) => other !== path)]
}

/** Compilers search /usr/local first. */
function shadowedHeaders(path: string): string[] {
  const name = /^\/usr\/local\/include\/(.+)$/.exec(path)?.[1]
  const dirs = ['', '/x86_64-linux-gnu', '/aarch64-linux-gnu']
  return name === undefined ? [] : dirs.map((dir) => `/usr/include${dir}/${name}`)
}

/** Whether a directory that leads to system files became something else. */
function isOnTheWay(path: string, programs: ReadonlySet<string>): boolean {
  if (/^\/(?:usr|usr\/local|usr\/share|usr\/etc|etc|etc\/xdg|root|home|home\/[^/]+|opt)$/.test(path)) return true
  return [...programs].some((dir) => dir === path || dir.startsWith(`${path}/`))
}

function split(path: string): [dir: string, name: string] {
  const at = path.lastIndexOf('/')
  return [path.slice(0, at), path.slice(at + 1)]
}

function withoutSlash(dir: string): string {
  return dir.replace(/\/+$/, '')
}
