/**
 * Numbers of system calls that no program inside may make, by calling convention: x86-64, 32-bit x86, arm64; null if a
 * convention lacks the call.
 */
export const deniedCalls: Readonly<
  Record<string, readonly [x64: number | null, x86: number | null, arm64: number | null]>
> = {
  // The caller's keys.
  add_key: [248, 286, 217],
  keyctl: [250, 288, 219],
  request_key: [249, 287, 218],
  // Parts of the kernel that no task needs and that often had security holes.
  bpf: [321, 357, 280],
  io_uring_enter: [426, 426, 426],
  io_uring_register: [427, 427, 427],
  io_uring_setup: [425, 425, 425],
  perf_event_open: [298, 336, 241],
  userfaultfd: [323, 374, 282],
  // Mounts and namespaces.
  fsconfig: [431, 431, 431],
  fsmount: [432, 432, 432],
  fsopen: [430, 430, 430],
  fspick: [433, 433, 433],
  mount: [165, 21, 40],
  mount_setattr: [442, 442, 442],
  move_mount: [429, 429, 429],
  open_tree: [428, 428, 428],
  pivot_root: [155, 217, 41],
  setns: [308, 346, 268],
  umount: [null, 22, null],
  umount2: [166, 52, 39],
  unshare: [272, 310, 97],
  // Files without a path.
  fanotify_init: [300, 338, 262],
  open_by_handle_at: [304, 342, 265],
  // The whole machine.
  acct: [163, 51, 89],
  clock_adjtime: [305, 343, 266],
  clock_adjtime64: [null, 405, null],
  clock_settime: [227, 264, 112],
  clock_settime64: [null, 404, null],
  create_module: [174, 127, null],
  delete_module: [176, 129, 106],
  finit_module: [313, 350, 273],
  init_module: [175, 128, 105],
  ioperm: [173, 101, null],
  iopl: [172, 110, null],
  kexec_file_load: [320, null, 294],
  kexec_load: [246, 283, 104],
  lookup_dcookie: [212, 253, 18],
  migrate_pages: [256, 294, 238],
  move_pages: [279, 317, 239],
  nfsservctl: [180, 169, 42],
  quotactl: [179, 131, 60],
  quotactl_fd: [443, 443, 443],
  reboot: [169, 88, 142],
  setdomainname: [171, 121, 162],
  sethostname: [170, 74, 161],
  settimeofday: [164, 79, 170],
  stime: [null, 25, null],
  swapoff: [168, 115, 225],
  swapon: [167, 87, 224],
  syslog: [103, 103, 116],
  uselib: [134, 86, null],
  vhangup: [153, 111, 58],
  vm86: [null, 166, null],
  vm86old: [null, 113, null],
}

interface Convention {
  /** The kernel's name for it (AUDIT_ARCH_*). */
  readonly audit: number
  readonly column: 0 | 1 | 2
  readonly socket: number
  /** The single call for all socket operations, whose arguments no filter can see. */
  readonly socketcall?: number
  /** Calls from this number on belong to yet another convention. */
  readonly endsAt?: number
}

const x64: Convention = { audit: 0xc000003e, column: 0, socket: 41, endsAt: 0x40000000 }
const x86: Convention = { audit: 0x40000003, column: 1, socket: 359, socketcall: 102 }
const arm64: Convention = { audit: 0xc00000b7, column: 2, socket: 198 }

/** Sockets to the hypervisor, if this is a virtual machine: no network namespace isolates them. */
const vsock = 40
const socketcallSocket = 1

const load = 0x20
const jumpIfEqual = 0x15
const jumpIfAtLeast = 0x35
const finish = 0x06
const allow = 0x7fff0000
const notPermitted = 0x00050000 | 1
const noSuchCall = 0x00050000 | 38
const offset = { number: 0, convention: 4, firstArgument: 16 }

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

/**
 * A seccomp filter in the kernel's format: calls that a container engine denies to programs without capabilities fail
 * with EPERM, others work. Calling conventions of other machines, and x32, are denied entirely.
 */
export function seccompFilter(arch: string = process.arch): Buffer {
  const conventions = arch === 'arm64' ? [arm64] : [x64, x86]
  const program: Instruction[] = [[load, 0, 0, offset.convention]]
  for (const convention of conventions) {
    const body = bodyOf(convention)
    // A jump reaches only 255 instructions, and a body may be longer: this skips over a jump of unlimited reach.
    program.push([jumpIfEqual, 1, 0, convention.audit], [0x05, 0, 0, body.length], ...body)
  }
  program.push([finish, 0, 0, noSuchCall])
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, ifTrue, ifFalse, value], i) => {
    bytes.writeUInt16LE(code, i * 8)
    bytes.writeUInt8(ifTrue, i * 8 + 2)
    bytes.writeUInt8(ifFalse, i * 8 + 3)
    bytes.writeUInt32LE(value, i * 8 + 4)
  })
  return bytes
}

/** What happens to calls from one number up to the next part's. */
interface Part {
  readonly from: number
  readonly verdict: readonly Instruction[]
}

function bodyOf({ column, socket, socketcall, endsAt }: Convention): Instruction[] {
  const numbers = Object.values(deniedCalls).flatMap((row) => row[column] ?? [])
  const special = [
    ...numbers.map((from) => ({ from, verdict: deny })),
    { from: socket, verdict: denyFor(vsock) },
    ...(socketcall === undefined ? [] : [{ from: socketcall, verdict: denyFor(socketcallSocket) }]),
  ]
  const parts: Part[] = []
  let next = 0
  for (const part of special.sort((a, b) => a.from - b.from)) {
    if (part.from > next) parts.push({ from: next, verdict: allowed })
    if (part.from > next || part.verdict !== parts.at(-1)?.verdict) parts.push(part)
    next = part.from + 1
  }
  parts.push({ from: next, verdict: allowed })
  if (endsAt !== undefined) parts.push({ from: endsAt, verdict: [[finish, 0, 0, noSuchCall]] })
  return [[load, 0, 0, offset.number], ...search(parts)]
}

const allowed: readonly Instruction[] = [[finish, 0, 0, allow]]
const deny: readonly Instruction[] = [[finish, 0, 0, notPermitted]]

/** Denies a call with this first argument. */
function denyFor(argument: number): readonly Instruction[] {
  return [[load, 0, 0, offset.firstArgument], [jumpIfEqual, 0, 1, argument], ...deny, ...allowed]
}

/**
 * Binary search over the parts. A linear search would be slow: when a filter is loaded, the kernel tries it on every
 * call.
 */
function search(parts: readonly Part[]): readonly Instruction[] {
  const [first] = parts
  if (first === undefined) return []
  if (parts.length === 1) return first.verdict
  const half = Math.ceil(parts.length / 2)
  const [low, high] = [search(parts.slice(0, half)), search(parts.slice(half))]
  return [[jumpIfAtLeast, low.length, 0, parts[half]?.from ?? 0], ...low, ...high]
}
