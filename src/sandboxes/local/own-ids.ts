import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { draftOf, removeDraft } from '../../lib/drafts.ts'
import { execProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/clean-env.ts'
import { inheritedDescriptors } from './descriptors.ts'

/**
 * Users of root's sandboxes with ids of their own: user 0 inside is an ordinary user outside, without rights over the host's files.
 * Every file that a sandbox is made of shows through an id-mapped mount, so that on disk its owners stay as they are.
 */
export interface OwnIds {
  /** A process in the user namespace of all sandboxes. */
  readonly usernsPid: number
  /** The id on the host that stands for user 0 inside. */
  readonly first: number
}

export const idCount = 65_536

/** Above what systemd gives out; no user of a usual host has such an id. */
const usualFirst = 0x7000_0000

/** The first id of the range: root's in /etc/subuid where it has one that suits. */
export function firstOwnId(subuid = readIfThere('/etc/subuid')): number {
  for (const line of subuid.split('\n')) {
    const [name, first, count] = line.split(':')
    if (name === 'root' && Number(first) >= idCount && Number(count) >= idCount) return Number(first)
  }
  return usualFirst
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** One thing to mount, in order; `idmap` shows a directory at another place under the sandboxes' ids. */
export type Mount =
  | { readonly kind: 'idmap'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'overlay'; readonly target: string; readonly options: string }

export function renderMounts(mounts: readonly Mount[]): string {
  const words = mounts.flatMap((mount) =>
    mount.kind === 'overlay'
      ? ['overlay', mount.target, mount.options]
      : [mount.readOnly ? 'idmap-ro' : 'idmap', mount.target, mount.source],
  )
  return words.map((word) => `${word}\0`).join('')
}

/** Numbers of system calls that differ between architectures: unshare, mount, prctl, setfsuid, setfsgid. */
const calls: Readonly<Record<string, readonly number[]>> = {
  x64: [272, 165, 157, 122, 123],
  arm64: [97, 40, 167, 151, 152],
}

/**
 * Perl is on every Debian system, and `mount` makes no id-mapped mounts before util-linux 2.39. The mounts are made in a mount
 * namespace of their own, under the id of the sandbox's root: the kernel keeps it for what overlays do later. Capabilities stay meanwhile.
 * What is to be shown is opened before a closed directory above the sandboxes is covered: it may lie in there too.
 */
const mounter = `
my ($home, $userns, $first, $plan, $unshare, $mount, $prctl, $fsuid, $fsgid, $inherited) = splice @ARGV, 0, 10;
$_ += 0 for $first, $unshare, $mount, $prctl, $fsuid, $fsgid;
my $empty = '';
sub fail { print STDERR "$_[0]: $!\\n"; exit 1 }
sub mountat { my ($source, $target, $type, $flags, $data) = @_; syscall($mount, $source, $target, $type, $flags, $data) == 0 or fail("mount $target") }
sub mapped {
  my ($source, $readonly) = @_;
  my $tree = syscall(428, -100, $source, 1 | 0x80000);
  $tree >= 0 or fail("open_tree $source");
  my $attributes = pack('Q4', 0x100000 | $readonly, 0, 0, fileno(USERNS));
  syscall(442, $tree, $empty, 0x1000, $attributes, 32) == 0 or fail("mount_setattr $source");
  return $tree;
}
sub attach { my ($tree, $target) = @_; syscall(429, $tree, $empty, -100, $target, 4) == 0 or fail("move_mount $target") }
for (split /,/, $inherited) { open(my $file, '<&=', $_) and close $file }
umask 022;
open(USERNS, '<', $userns) or fail($userns);
syscall($unshare, 0x20000) == 0 or fail('unshare');
mountat('none', '/', 'none', 0x44000, $empty);
my @plan = do { local $/ = "\\0"; open(my $file, '<', $plan) or fail($plan); my @words = <$file>; chomp @words; @words };
my @parts;
while (my @part = splice @plan, 0, 3) { push @parts, [@part, $part[0] eq 'overlay' ? undef : mapped($part[2], $part[0] eq 'idmap-ro' ? 1 : 0)] }
my $tree = mapped($home, 0);
my ($at, $covered) = ('', 0);
for my $part (split m{/}, substr($home, 1)) {
  $at .= "/$part";
  if ($covered) { mkdir $at or fail($at) }
  elsif ($at ne $home && !((stat $at)[2] & 1)) { mountat('tmpfs', $at, 'tmpfs', 6, 'mode=0755'); $covered = 1 }
}
attach($tree, $home);
chdir $home or fail($home);
syscall($prctl, 28, 4, 0, 0, 0) == 0 or fail('prctl');
syscall($fsgid, $first);
syscall($fsuid, $first);
for (@parts) {
  my ($kind, $target, $what, $source) = @$_;
  if (defined $source) { attach($source, $target) } else { mountat('overlay', $target, 'overlay', 0, $what) }
}
syscall($fsuid, 0);
syscall($fsgid, 0);
syscall($prctl, 28, 0, 0, 0, 0);
exec { $ARGV[0] } @ARGV;
fail($ARGV[0]);
`

/** The arguments of perl that mount a plan and then become a program. */
export function mountArgs(ids: OwnIds, home: string, planFile: string, argv: readonly string[]): string[] {
  const numbers = calls[process.arch] ?? []
  const where = [home, `/proc/${ids.usernsPid}/ns/user`, ids.first, planFile]
  return ['-e', mounter, ...[...where, ...numbers, inheritedDescriptors().join(',')].map(String), ...argv]
}

/** Arguments that let nsenter enter the user namespace of all sandboxes, as its root. */
export function enterOwnIds({ usernsPid }: OwnIds): string[] {
  return [`--user=/proc/${usernsPid}/ns/user`]
}

export const supportsOwnIds = Object.hasOwn(calls, process.arch)

/** Tries it where sandboxes will lie, over the host's own programs: file systems differ in what they allow. */
export async function tryOwnIds(ids: OwnIds, home: string): Promise<boolean> {
  const dir = draftOf(join(home, 'bases', 'own-ids'))
  const [merged, upper, work] = [join(dir, 'merged'), join(dir, 'upper'), join(dir, 'work')]
  try {
    for (const path of [merged, upper, work]) mkdirSync(path, { recursive: true })
    const options = `lowerdir=${merged},upperdir=${relative(home, upper)},workdir=${relative(home, work)}`
    const plan: Mount[] = [
      { kind: 'idmap', source: '/usr', target: merged, readOnly: false },
      { kind: 'overlay', target: merged, options },
    ]
    writeFileSync(join(dir, 'plan'), renderMounts(plan))
    const touch = ['nsenter', ...enterOwnIds(ids), 'touch', join(merged, 'file')]
    await execProcess('perl', mountArgs(ids, home, join(dir, 'plan'), touch), { env: cleanEnv })
    return true
  } catch (error) {
    // It said no; that a process could not even be started is another matter.
    if (error instanceof Error && 'code' in error && typeof error.code === 'number') return false
    throw error
  } finally {
    await removeDraft(dir)
  }
}
