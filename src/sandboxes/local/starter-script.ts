import { BoundaryError } from '../../core/errors.ts'
import { starterChildren } from './starter-children.ts'
import { type Inside, starterInside } from './starter-inside.ts'

/** A program to start in namespaces, as root of the user namespace of all sandboxes. */
export interface StartRequest {
  readonly ids: { readonly usernsPid: number; readonly first: number }
  /** Mounted first, in a new mount namespace. */
  readonly mounts?: { readonly home: string; readonly plan: readonly string[] } | undefined
  /** Files of namespaces to enter. */
  readonly namespaces?: readonly string[]
  /** The process joins control groups by writing into these. */
  readonly joinFiles?: readonly string[]
  /** What is open for reading, by number. */
  readonly files?: readonly (readonly [number: number, path: string])[]
  /** The same for words that are in no file, each ended by a NUL; at most `mostText` bytes of them. */
  readonly text?: readonly [number: number, words: readonly string[]] | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly argv: readonly string[]
  /** How it gets into a sandbox by itself; the variables are then all that it has. */
  readonly inside?: Inside | undefined
  /** Which of 1, 2 and 3 are read; the first two are /dev/null otherwise. */
  readonly streams: readonly number[]
  /** A terminal is its first three instead: the near end is open in this process under `fd`. */
  readonly terminal?: { readonly fd: number; readonly cols: number; readonly rows: number }
  /** Of each stream one byte more than these arrives, and no more. */
  readonly limitBytes: number
}

/** The starter may not take a terminal over from this process, as on machines where no process may look into another. */
export class NoTerminalError extends Error {
  override readonly name = 'NoTerminalError'
}

/** What a pipe takes without a reader. */
export const mostText = 60_000

/** A request as the script takes it: four words, and then each list after its length. */
export function requestWords(request: StartRequest): string[] {
  const { ids, mounts, inside, terminal } = request
  const lists = [
    mounts?.plan ?? [],
    request.streams,
    request.joinFiles ?? [],
    request.namespaces ?? [],
    request.files?.flat() ?? [],
    request.text?.flat() ?? [],
    Object.entries(request.env ?? {}).map(([name, value]) => `${name}=${value}`),
    request.argv,
    inside ? [inside.pidns, inside.seccompFile, inside.capabilities, inside.cwd, inside.merged, ...inside.plan] : [],
    terminal ? [terminal.fd, terminal.cols, terminal.rows] : [],
  ]
  const words = [
    ...[mounts?.home ?? '', ids.first, `/proc/${ids.usernsPid}/ns/user`, request.limitBytes],
    ...lists.flatMap((list) => [list.length, ...list]),
  ].map(String)
  if (words.some((word) => word.includes('\0')))
    throw new BoundaryError('task', 'a command holds a NUL character', { retryable: false })
  return words
}

/** Numbers of the system calls that differ between architectures, in the order in which the script takes them: on x64 and on arm64. */
const calls: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  unshare: [272, 97],
  mount: [165, 40],
  prctl: [157, 167],
  setfsuid: [122, 151],
  setfsgid: [123, 152],
  setns: [308, 268],
  setgroups: [116, 159],
  setgid: [106, 144],
  setuid: [105, 146],
  setsid: [112, 157],
  rt_sigprocmask: [14, 135],
  signalfd4: [289, 74],
  prlimit64: [302, 261],
  dup3: [292, 24],
  clone: [56, 220],
  sethostname: [170, 161],
  capset: [126, 91],
  exit_group: [231, 94],
  umount2: [166, 39],
  pivot_root: [155, 41],
}

/** The numbers for this machine; null where they are not known. */
export function systemCalls(): readonly number[] | null {
  const column = ['x64', 'arm64'].indexOf(process.arch)
  return column < 0 ? null : Object.values(calls).map((numbers) => numbers[column] ?? -1)
}

/**
 * Perl is on every Debian system, and `mount` makes no id-mapped mounts before util-linux 2.39.
 *
 * Requests come on stdin and events go to stdout, each with its length before it; `requestWords` makes the longest. What the
 * children do that are forked here is in starter-children.ts.
 *
 * The mounts of the host that no sandbox needs are taken away once, in a mount namespace that every sandbox copies: bubblewrap reads
 * the whole list for each of its own mounts. Removers stay for the next directory that is to go.
 *
 * What a command leaves behind when it is killed becomes a child of the starter, which collects it (PR_SET_CHILD_SUBREAPER): a sandbox cannot
 * end before someone does, and the first process of a container often collects nothing. A number in the list of unclaimed exits
 * may belong to one of those, so that it counts for a holder only when no child has its number.
 */
export const starterScript = String.raw`
use strict;
my ($unshare, $mount, $prctl, $fsuid, $fsgid, $setns, $setgroups, $setgid, $setuid, $setsid, $sigmask, $signalfd, $prlimit, $dup3, $clone, $sethostname, $capset, $exit_group, $umount, $pivot_root) = map { $_ + 0 } splice @ARGV, 0, 20;
for (@ARGV) { open(my $file, '<&=', $_) or next; close $file }
umask 022;
$SIG{PIPE} = 'IGNORE';
my $empty = '';
my $limit = pack('Q2', 0, 0);
if (syscall($prlimit, 0, 7, 0, $limit) == 0) {
  my ($soft, $hard) = unpack('Q2', $limit);
  my $sane = pack('Q2', 65536, $hard);
  syscall($prlimit, 0, 7, $sane, 0) if $soft > 65536;
}
syscall($prctl, 36, 1, 0, 0, 0);
syscall($prctl, 4, 0, 0, 0, 0) == 0 or die "prctl: $!\n";
open(my $null, '+<', '/dev/null') or die "/dev/null: $!\n";
my $child_signal = pack('Q', 1 << 16);
syscall($sigmask, 0, $child_signal, 0, 8) == 0 or die "rt_sigprocmask: $!\n";
my $signal_fd = syscall($signalfd, -1, $child_signal, 8, 0x80800);
$signal_fd >= 0 or die "signalfd4: $!\n";
open(my $signals, '<&=', $signal_fd) or die "signalfd4: $!\n";

my $client = syscall(434, getppid, 0);
pipe(my $acks, my $ack) or die "pipe: $!\n";
fcntl($acks, 4, 0x800) or die "fcntl: $!\n";

my (%running, %by_pid, %streams, %launchers, %unclaimed, %stages, %removers);

sub tell_of {
  my ($id, $kind, $text) = @_;
  my $frame = pack('NNa', 5 + length $text, $id, $kind) . $text;
  while (length $frame) {
    my $written = syswrite(STDOUT, $frame);
    if (defined $written) { substr($frame, 0, $written) = '' }
    elsif ($! != 4) { exit 0 }
  }
}

${starterChildren}${starterInside}
sub start {
  my ($id, $is_holder, @words) = @_;
  my %request;
  $request{$_} = shift @words for qw(home first userns limit);
  for my $list (qw(plan streams join namespaces files texts env argv inside terminal)) { my $count = shift @words; $request{$list} = [splice @words, 0, $count] }
  $request{first} += 0;
  my (%theirs, %ours);
  for (@{$request{streams}}) {
    pipe($ours{$_}, $theirs{$_}) or return tell_of($id, 'f', "pipe: $!");
    fcntl($ours{$_}, 4, 0x800) or return tell_of($id, 'f', "fcntl: $!");
    chown $request{first}, $request{first}, $theirs{$_};
  }
  my $terminal;
  if (@{$request{terminal}}) { $terminal = far_end(@{$request{terminal}}, $request{first}) or return tell_of($id, 'f', "terminal: $!") }
  make_stage($request{home}) if @{$request{plan}} && !$stages{$request{home}};
  my ($control, $hand);
  if ($is_holder) { pipe($control, $hand) or return tell_of($id, 'f', "pipe: $!") }
  my $goes_inside = @{$request{inside}};
  my $pid = $goes_inside ? fork_inside(\%request) : fork;
  return tell_of($id, 'f', "fork: $!") unless defined $pid;
  if ($pid == 0) { $is_holder ? hold($id, \%request, \%theirs, $control) : $goes_inside ? go_inside(\%request, \%theirs) : become(\%request, \%theirs, $terminal) }
  $running{$id} = { pid => $pid, open => {}, hand => $hand, is_holder => $is_holder, said => '', terminal => $request{terminal}[0] };
  if ($is_holder) { $launchers{$pid} = $id } else { $by_pid{$pid} = $id }
  for (keys %ours) {
    my $fd = fileno $ours{$_};
    $running{$id}{open}{$_} = $fd;
    $streams{$fd} = { id => $id, number => $_, file => $ours{$_}, left => $request{limit} + 1 };
  }
  tell_of($id, 'p', $pid) unless $is_holder;
}

sub forget { my ($id) = @_; my $process = $running{$id} or return; delete $running{$id} if $process->{ended} && !%{$process->{open}} }

sub close_stream {
  my ($fd) = @_;
  my $stream = delete $streams{$fd};
  close $stream->{file};
  delete $running{$stream->{id}}{open}{$stream->{number}};
  tell_of($stream->{id}, 'e', $stream->{number}) unless $running{$stream->{id}}{is_holder};
  forget($stream->{id});
}

sub relay {
  my ($fd) = @_;
  my $stream = $streams{$fd} or return;
  my $read = sysread($stream->{file}, my $data, 65536);
  # Nothing is left where drain was faster.
  return if !defined $read && ($! == 4 || $! == 11);
  return close_stream($fd) unless $read;
  my $kept = $read < $stream->{left} ? $read : $stream->{left};
  return unless $kept;
  $stream->{left} -= $kept;
  if ($running{$stream->{id}}{is_holder}) { $running{$stream->{id}}{said} .= substr($data, 0, $kept); return }
  tell_of($stream->{id}, 'd', $stream->{number} . substr($data, 0, $kept));
}

# Relays what is left in the pipes of a process that has ended, before its exit is reported: the reader only waits 100 ms after that.
# Its children may keep writing.
sub drain {
  my ($process) = @_;
  for my $number (3, 2, 1) {
    for (1 .. 16) {
      my $fd = $process->{open}{$number};
      last unless defined $fd;
      my $ready = '';
      vec($ready, $fd, 1) = 1;
      last unless select($ready, undef, undef, 0) > 0;
      relay($fd);
    }
  }
}

sub end_of {
  my ($id, $status) = @_;
  my $process = $running{$id};
  drain($process) unless $process->{is_holder};
  $process->{ended} = 1;
  delete $process->{hand};
  tell_of($id, 'x', $status);
  forget($id);
}

my $heard = '';
sub hear_holders {
  1 while sysread($acks, $heard, 65536, length $heard);
  while ($heard =~ s/^(\w) (\d+) ?(\d*)(.*)\n//) {
    my ($kind, $id, $pid, $devices) = ($1, $2, $3, $4);
    my $process = $running{$id} or next;
    if ($kind eq 'd') { removed($process->{pid}, $pid); next }
    if ($kind eq 'r') { tell_of($id, 'r', ''); next }
    $process->{pid} = $pid;
    $process->{is_up} = 1;
    tell_of($id, 'p', "$pid$devices");
    kill 'KILL', $pid if $process->{is_killed};
    my $status = delete $unclaimed{$pid};
    my $ended = waitpid $pid, 1;
    if ($ended == 0) { $by_pid{$pid} = $id } else { end_of($id, $ended > 0 ? $? : $status // 9) }
  }
}

sub launched {
  my ($id) = @_;
  hear_holders();
  my $process = $running{$id};
  return if !$process || $process->{is_up};
  for (values %{$process->{open}}) { sysread($streams{$_}{file}, $process->{said}, 65536, length $process->{said}); delete $streams{$_} }
  delete $running{$id};
  tell_of($id, 'f', $process->{said});
}

sub collect_ended {
  sysread($signals, my $ignored, 4096);
  while ((my $pid = waitpid(-1, 1)) > 0) {
    my $status = $?;
    if (exists $launchers{$pid}) { launched(delete $launchers{$pid}) }
    elsif (exists $by_pid{$pid}) { end_of(delete $by_pid{$pid}, $status) }
    elsif (exists $removers{$pid}) { removed($pid, $status || 256); delete $removers{$pid} }
    else { $unclaimed{$pid} = $status }
  }
  %unclaimed = () if !%launchers || keys %unclaimed > 1000;
}

sub handle {
  my ($id, $verb, @words) = split /\0/, $_[0], -1;
  pop @words;
  return start($id, $verb eq 'hold', @words) if $verb eq 'start' || $verb eq 'hold';
  return start_removal($id, $words[0]) if $verb eq 'remove';
  my $process = $running{$id} or return;
  if ($verb eq 'renew') { syswrite($process->{hand}, 'r') if $process->{hand} }
  elsif ($verb eq 'kill') { hear_holders(); $process->{is_killed} = 1; kill 'KILL', $process->{pid} unless $process->{ended} }
  elsif ($verb eq 'resize' && !$process->{ended}) { my $near = near_end($process->{terminal}); set_size($near, @words) if $near; tell_of($id, 'r', '') }
  elsif ($verb eq 'drop') { my @open = values %{$process->{open}}; close_stream($_) for @open }
}

my $requests = '';
while (1) {
  my $ready = '';
  vec($ready, $_, 1) = 1 for 0, $signal_fd, fileno $acks, keys %streams;
  next if select($ready, undef, undef, undef) < 0;
  hear_holders() if vec($ready, fileno $acks, 1);
  collect_ended() if vec($ready, $signal_fd, 1);
  for (keys %streams) { relay($_) if vec($ready, $_, 1) }
  next unless vec($ready, 0, 1);
  my $read = sysread(STDIN, $requests, 65536, length $requests);
  exit 0 if defined $read ? $read == 0 : $! != 4;
  while (length $requests >= 4 && length $requests >= 4 + unpack('N', $requests)) {
    my $length = unpack('N', $requests);
    my $request = substr($requests, 4, $length);
    substr($requests, 0, 4 + $length) = '';
    handle($request);
  }
}
`
