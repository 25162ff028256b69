/** What a sandbox is started with. */
export interface StartRequest {
  readonly name: string
  /** A .sif file, a directory with a root file system, or anything else Apptainer can start. */
  readonly image: string
  /**
   * Directories over the image, bottom to top; writes go to the last one, which outlives the instance. None: the file
   * system is read-only.
   */
  readonly overlays: readonly string[]
  readonly binds: readonly Bind[]
  readonly network: 'host' | 'none'
  readonly privileges: Privileges
  readonly pidFile: string
  /** Apptainer's own limits, where ours cannot be set. */
  readonly limits: FlagLimits
}

/**
 * What root inside may do: a root user of this machine must be restricted, an ordinary user's root is root in name
 * only.
 */
export interface Privileges {
  readonly isRoot: boolean
  /** System calls that programs may not make; only root can set this filter. */
  readonly seccompFile: string
}

export interface Bind {
  readonly source: string
  readonly target: string
  readonly readOnly?: boolean
}

export interface FlagLimits {
  readonly cpus?: number
  readonly memoryMb?: number
  readonly pids?: number
}

/** What root in a container may usually do; nothing that reaches outside. */
const capabilities = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETPCAP',
  'CAP_NET_BIND_SERVICE',
  'CAP_SYS_CHROOT',
  'CAP_SETFCAP',
  'CAP_AUDIT_WRITE',
]

/** Arguments that start an instance; inside, nothing of the host's files, variables, processes or home is visible. */
export function startArgs(request: StartRequest): string[] {
  const { cpus, memoryMb, pids } = request.limits
  return [
    ...['instance', 'start', '--containall', '--no-home', '--cleanenv', '--no-eval', '--no-umask'],
    // Without these mounts, /tmp and homes are in the overlay like everything else, and outlive the instance with it.
    // No /sys either: root of this machine could write to it.
    ...['--no-mount', 'hostfs,bind-paths,cwd,home,tmp,sys'],
    ...['--hostname', 'sandbox'],
    ...(request.network === 'none' ? ['--net', '--network', 'none'] : []),
    ...request.overlays.flatMap((dir, i) => ['--overlay', i < request.overlays.length - 1 ? `${dir}:ro` : dir]),
    ...request.binds.flatMap(({ source, target, readOnly }) => [
      '--bind',
      `${source}:${target}${readOnly ? ':ro' : ''}`,
    ]),
    ...privilegeArgs(request.privileges),
    ...(cpus === undefined ? [] : ['--cpus', String(cpus)]),
    ...(memoryMb === undefined ? [] : ['--memory', `${memoryMb}M`]),
    ...(pids === undefined ? [] : ['--pids-limit', String(pids)]),
    ...['--pid-file', request.pidFile, request.image, request.name],
  ]
}

/** Arguments that run a command in an instance. Variables are passed in the program's environment, never here. */
export function execArgs(name: string, privileges: Privileges, argv: readonly string[]): string[] {
  const held = privilegeArgs(privileges).filter((word) => word !== '--fakeroot')
  return ['exec', '--cleanenv', '--no-eval', ...held, `instance://${name}`, ...argv]
}

export function stopArgs(name: string): string[] {
  return ['instance', 'stop', '--signal', 'KILL', name]
}

/** Arguments that turn a registry image into a file. */
export function buildArgs(target: string, image: string, isRoot: boolean): string[] {
  return ['build', '--force', ...(isRoot ? [] : ['--fakeroot']), target, `docker://${image}`]
}

function privilegeArgs({ isRoot, seccompFile }: Privileges): string[] {
  const held = isRoot ? ['--no-privs', '--add-caps', capabilities.join(','), '--allow-setuid'] : ['--fakeroot']
  return [...held, '--security', `seccomp:${seccompFile}`]
}

/** Variables that Apptainer adds by itself and that no program inside expects. */
const additions = [
  'LD_LIBRARY_PATH',
  'PROMPT_COMMAND',
  'PS1',
  ...['BIND', 'CONTAINER', 'ENVIRONMENT', 'INSTANCE', 'NAME', 'NO_EVAL', 'COMMAND', 'APPNAME'].flatMap((name) => [
    `APPTAINER_${name}`,
    `SINGULARITY_${name}`,
  ]),
]

export interface InsideOptions {
  readonly cwd: string
  readonly user: string | number | undefined
  /** Names of the requested variables. */
  readonly variables: readonly string[]
}

/** Runs a command inside in its directory and as its user; one that cannot be started ends with a shell's exit code. */
export function insideArgv(argv: readonly string[], { cwd, user, variables }: InsideOptions): string[] {
  const unwanted = additions.filter((name) => !variables.includes(name))
  const home = variables.includes('HOME')
    ? []
    : [`export HOME="$(getent passwd "$1" | cut -d: -f6)"`, '[ -n "$HOME" ] || HOME=/']
  const script = [
    `unset ${unwanted.join(' ')}`,
    'umask 022',
    'cd -- "$2" || exit 126',
    ...(user === undefined || user === 'root' || user === 0
      ? [...(variables.includes('HOME') ? [] : ['export HOME=/root']), 'shift 2', 'exec "$@"']
      : [
          ...home,
          'uid=$(id -u -- "$1" 2>/dev/null) || uid=$1',
          'gid=$(id -g -- "$1" 2>/dev/null) || gid=$uid',
          'groups=--init-groups; id -- "$1" >/dev/null 2>&1 || groups=--clear-groups',
          'shift 2',
          'exec setpriv --reuid "$uid" --regid "$gid" $groups -- "$@"',
        ]),
  ].join('\n')
  return ['/bin/sh', '-c', script, 'sh', String(user ?? 'root'), cwd, ...argv]
}
