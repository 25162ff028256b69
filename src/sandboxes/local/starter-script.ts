/** Numbers of system calls that differ between architectures, in the order in which the script takes them. */
const callNames = [
  ...['unshare', 'mount', 'prctl', 'setfsuid', 'setfsgid', 'setns', 'setgroups', 'setgid', 'setuid', 'setsid'],
  ...['rt_sigprocmask', 'signalfd4', 'prlimit64', 'dup3', 'clone', 'sethostname', 'capset', 'exit_group'],
] as const

const calls: Readonly<Record<string, Readonly<Record<(typeof callNames)[number], number>>>> = {
  x64: {
    unshare: 272,
    mount: 165,
    prctl: 157,
    setfsuid: 122,
    setfsgid: 123,
    setns: 308,
    setgroups: 116,
    setgid: 106,
    setuid: 105,
    setsid: 112,
    rt_sigprocmask: 14,
    signalfd4: 289,
    prlimit64: 302,
    dup3: 292,
    clone: 56,
    sethostname: 170,
    capset: 126,
    exit_group: 231,
  },
  arm64: {
    unshare: 97,
    mount: 40,
    prctl: 167,
    setfsuid: 151,
    setfsgid: 152,
    setns: 268,
    setgroups: 159,
    setgid: 144,
    setuid: 146,
    setsid: 157,
    rt_sigprocmask: 135,
    signalfd4: 74,
    prlimit64: 261,
    dup3: 24,
    clone: 220,
    sethostname: 161,
    capset: 91,
    exit_group: 94,
  },
}

/** The numbers for this machine; null where they are not known. */
export function systemCalls(): readonly number[] | null {
  const numbers = calls[process.arch]
  return numbers === undefined ? null : callNames.map((name) => numbers[name])
}

/**
 * Perl is on every Debian system, and `mount` makes no id-mapped mounts before util-linux 2.39.
 *
 * Requests come on stdin and events go to stdout, each with its length before it; starter.ts says what they hold. A process is
 * started in the order of the lines of `become`: nothing of a sandbox can be seen before its control group holds the process.
 *
 * The first process of a sandbox is a fork of this one that starts no other program: it has closed every file, sees an empty directory,
 * cannot be traced from inside, and ends when its pipe does. When told to, it kills all others of the sandbox at once, which no fork can
 * outrun, and replaces the namespaces of its network and its shared memory.
 *
 * Mounts are made in a mount namespace of their own, under the id of the sandbox's root: the kernel keeps it for what overlays do
 * later. Capabilities stay meanwhile. What is to be shown is opened before a closed directory above the sandboxes is covered: it may lie in there too.
 */
export const starterScript = String.raw`
use strict;
my ($unshare, $mount, $prctl, $fsuid, $fsgid, $setns, $setgroups, $setgid, $setuid, $setsid, $sigmask, $signalfd, $prlimit, $dup3, $clone, $sethostname, $capset, $exit_group) = map { $_ + 0 } splice @ARGV, 0, 18;
for (@ARGV) { open(my $file, '<&=', $_) or next; close $file }
umask 022;
my $empty = '';
my $limit = pack('Q2', 0, 0);
if (syscall($prlimit, 0, 7, 0, $limit) == 0) {
  my ($soft, $hard) = unpack('Q2', $limit);
  my $sane = pack('Q2', 65536, $hard);
  syscall($prlimit, 0, 7, $sane, 0) if $soft > 65536;
}
open(my $null, '+<', '/dev/null') or die "/dev/null: $!\n";
my $child_signal = pack('Q', 1 << 16);
syscall($sigmask, 0, $child_signal, 0, 8) == 0 or die "rt_sigprocmask: $!\n";
my $signal_fd = syscall($signalfd, -1, $child_signal, 8, 0x80800);
$signal_fd >= 0 or die "signalfd4: $!\n";
open(my $signals, '<&=', $signal_fd) or die "signalfd4: $!\n";

pipe(my $acks, my $ack) or die "pipe: $!\n";
fcntl($acks, 4, 0x800) or die "fcntl: $!\n";

my (%running, %by_pid, %streams, %launchers, %unclaimed);

sub tell_of {
  my ($id, $kind, $text) = @_;
  my $frame = pack('NNa', 5 + length $text, $id, $kind) . $text;
  while (length $frame) {
    my $written = syswrite(STDOUT, $frame);
    if (defined $written) { substr($frame, 0, $written) = '' }
    elsif ($! != 4) { exit 0 }
  }
}

sub fail { print STDERR "$_[0]: $!\n"; exit 126 }
sub mount_at { my ($source, $target, $type, $flags, $data) = @_; syscall($mount, $source, $target, $type, $flags, $data) == 0 or fail("mount $target") }
sub attach { my ($tree, $target) = @_; syscall(429, $tree, $empty, -100, $target, 4) == 0 or fail("move_mount $target") }
sub mapped {
  my ($source, $readonly, $userns) = @_;
  my $tree = syscall(428, -100, $source, 1 | 0x80000);
  $tree >= 0 or fail("open_tree $source");
  my $attributes = pack('Q4', 0x100000 | $readonly, 0, 0, fileno $userns);
  syscall(442, $tree, $empty, 0x1000, $attributes, 32) == 0 or fail("mount_setattr $source");
  return $tree;
}

sub mount_plan {
  my ($home, $plan, $first, $userns) = @_;
  syscall($unshare, 0x20000) == 0 or fail('unshare');
  mount_at('none', '/', 'none', 0x44000, $empty);
  my @plan = @$plan;
  my @parts;
  while (my @part = splice @plan, 0, 3) { push @parts, [@part, $part[0] eq 'overlay' ? undef : mapped($part[2], $part[0] eq 'idmap-ro' ? 1 : 0, $userns)] }
  my $tree = mapped($home, 0, $userns);
  my ($at, $covered) = ('', 0);
  for my $part (split m{/}, substr($home, 1)) {
    $at .= "/$part";
    if ($covered) { mkdir $at or fail($at) }
    elsif ($at ne $home && !((stat $at)[2] & 1)) { mount_at('tmpfs', $at, 'tmpfs', 6, 'mode=0755'); $covered = 1 }
  }
  attach($tree, $home);
  chdir $home or fail($home);
  syscall($prctl, 28, 4, 0, 0, 0) == 0 or fail('prctl');
  syscall($fsgid, $first);
  syscall($fsuid, $first);
  for (@parts) {
    my ($kind, $target, $what, $source) = @$_;
    if (defined $source) { attach($source, $target) } else { mount_at('overlay', $target, 'overlay', 0, $what) }
  }
  syscall($fsuid, 0);
  syscall($fsgid, 0);
  syscall($prctl, 28, 0, 0, 0, 0);
  return map { $_->[0] eq 'overlay' ? (stat $_->[1])[0] : () } @parts;
}

sub put { my ($from, $to) = @_; syscall($dup3, $from, $to, 0) >= 0 or fail('dup3') }

sub detach {
  my ($pipes) = @_;
  put(fileno $null, 0);
  for (1, 2) { put(fileno($pipes->{$_} // $null), $_) }
  syscall($setsid);
  my $none = pack('Q', 0);
  syscall($sigmask, 2, $none, 0, 8);
}

sub enter {
  for (@_) { syscall($setns, fileno $_, 0) == 0 or fail('setns') }
}

sub become_root {
  my ($userns) = @_;
  enter($userns);
  syscall($setgroups, 0, 0) == 0 or fail('setgroups');
  syscall($setgid, 0) == 0 or fail('setgid');
  syscall($setuid, 0) == 0 or fail('setuid');
}

sub open_namespaces {
  my ($request) = @_;
  open(my $userns, '<', $request->{userns}) or fail($request->{userns});
  return $userns, map { open(my $file, '<', $_) or fail($_); $file } @{$request->{namespaces}};
}

sub fresh_namespaces {
  my ($others) = @_;
  syscall($unshare, 0x48000000 | $others) == 0 or fail('unshare');
  socket(my $socket, 2, 2, 0) or fail('socket');
  my $up = pack('a16 s x22', 'lo', 0x41);
  ioctl($socket, 0x8914, $up) or fail('ioctl lo');
}

sub be_first {
  my ($id, $control) = @_;
  put(fileno $control, 0);
  put(fileno $ack, 1);
  put(fileno $null, 2);
  syscall(436, 3, 0xffffffff, 0) == 0 or exit 1;
  $0 = 'sandbox';
  $SIG{CHLD} = 'IGNORE';
  my $header = pack('L2', 0x20080522, 0);
  my $powers = pack('L6', 0x201020, 0x201020, 0, 0, 0, 0);
  syscall($capset, $header, $powers) == 0 or exit 1;
  syscall($prctl, 38, 1, 0, 0, 0) == 0 or exit 1;
  syscall($prctl, 4, 0, 0, 0, 0) == 0 or exit 1;
  syscall($prctl, 1, 9, 0, 0, 0) == 0 or exit 1;
  while (1) {
    my $read = sysread(STDIN, my $word, 1);
    next if !defined $read && $! == 4;
    exit 0 unless $read;
    kill 'KILL', -1;
    fresh_namespaces(0);
    defined syswrite(STDOUT, "r $id\n") or exit 1;
  }
}

sub hold {
  my ($id, $request, $pipes, $control) = @_;
  detach($pipes);
  my ($userns, @namespaces) = open_namespaces($request);
  my @devices = @{$request->{plan}} ? mount_plan(@$request{qw(home plan first)}, $userns) : ();
  enter(@namespaces);
  chdir "$request->{home}/empty" or fail("$request->{home}/empty");
  become_root($userns);
  fresh_namespaces(0x4000000);
  my $name = 'sandbox';
  syscall($sethostname, $name, length $name) == 0 or fail('sethostname');
  chroot '.' or fail('chroot');
  my $pid = syscall($clone, 0x20008011, 0, 0, 0, 0);
  fail('clone') if $pid < 0;
  be_first($id, $control) if $pid == 0;
  syswrite($ack, "h $id $pid @devices\n");
  syscall($exit_group, 0);
}

sub filled_pipe {
  my ($text) = @_;
  pipe(my $reading, my $writing) or fail('pipe');
  syswrite($writing, $text) == length $text or fail('write');
  return $reading;
}

sub become {
  my ($request, $pipes) = @_;
  detach($pipes);
  for (@{$request->{join}}) { open(my $file, '>', $_) or fail($_); defined syswrite($file, '0') or fail($_) }
  my @files;
  push @files, [3, $pipes->{3}] if $pipes->{3};
  my @paths = @{$request->{files}};
  while (my ($number, $path) = splice @paths, 0, 2) { open(my $file, '<', $path) or fail($path); push @files, [$number + 0, $file] }
  if (@{$request->{texts}}) { my ($number, @words) = @{$request->{texts}}; push @files, [$number + 0, filled_pipe(join '', map { "$_\0" } @words)] }
  my ($userns, @namespaces) = open_namespaces($request);
  mount_plan(@$request{qw(home plan first)}, $userns) if @{$request->{plan}};
  enter(@namespaces);
  become_root($userns);
  for (@files) { $_->[2] = fcntl($_->[1], 1030, 32) or fail('fcntl') }
  for (@files) { put($_->[2] + 0, $_->[0]) }
  for (@{$request->{env}}) { my ($name, $value) = split /=/, $_, 2; $ENV{$name} = $value }
  my @argv = @{$request->{argv}};
  exec { $argv[0] } @argv;
  fail($argv[0]);
}

sub start {
  my ($id, $is_holder, @words) = @_;
  my %request;
  $request{$_} = shift @words for qw(home first userns limit);
  for my $list (qw(plan streams join namespaces files texts env argv)) { my $count = shift @words; $request{$list} = [splice @words, 0, $count] }
  $request{first} += 0;
  my (%theirs, %ours);
  for (@{$request{streams}}) {
    pipe($ours{$_}, $theirs{$_}) or return tell_of($id, 'f', "pipe: $!");
    chown $request{first}, $request{first}, $theirs{$_};
  }
  my ($control, $hand);
  if ($is_holder) { pipe($control, $hand) or return tell_of($id, 'f', "pipe: $!") }
  my $pid = fork;
  return tell_of($id, 'f', "fork: $!") unless defined $pid;
  if ($pid == 0) { $is_holder ? hold($id, \%request, \%theirs, $control) : become(\%request, \%theirs) }
  $running{$id} = { pid => $pid, open => {}, hand => $hand, is_holder => $is_holder, said => '' };
  if ($is_holder) { $launchers{$pid} = $id } else { $by_pid{$pid} = $id }
  for (keys %ours) {
    my $fd = fileno $ours{$_};
    $running{$id}{open}{$_} = $fd;
    $streams{$fd} = { id => $id, number => $_, file => $ours{$_}, left => $request{limit} + 1 };
  }
  tell_of($id, 'p', $pid) unless $is_holder;
}

sub remove_tree {
  my ($dir, $depth) = @_;
  return 0 if $depth > 50;
  opendir(my $listing, $dir) or return $! == 2;
  my @names = grep { $_ ne '.' && $_ ne '..' } readdir $listing;
  closedir $listing;
  my $is_gone = 1;
  for my $path (map { "$dir/$_" } @names) {
    lstat $path;
    if (-d _) { $is_gone = 0 unless remove_tree($path, $depth + 1) }
    else { unlink $path or $! == 2 or $is_gone = 0 }
  }
  rmdir $dir or $! == 2 or return 0;
  return $is_gone;
}

sub start_removal {
  my ($id, $dir) = @_;
  my $pid = fork;
  return tell_of($id, 'f', "fork: $!") unless defined $pid;
  if ($pid == 0) { detach({}); syscall($exit_group, remove_tree($dir, 0) ? 0 : 1) }
  $running{$id} = { pid => $pid, open => {} };
  $by_pid{$pid} = $id;
  tell_of($id, 'p', $pid);
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
  return if !defined $read && $! == 4;
  return close_stream($fd) unless $read;
  my $kept = $read < $stream->{left} ? $read : $stream->{left};
  return unless $kept;
  $stream->{left} -= $kept;
  if ($running{$stream->{id}}{is_holder}) { $running{$stream->{id}}{said} .= substr($data, 0, $kept); return }
  tell_of($stream->{id}, 'd', $stream->{number} . substr($data, 0, $kept));
}

sub end_of {
  my ($id, $status) = @_;
  my $process = $running{$id};
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
    if ($kind eq 'r') { tell_of($id, 'r', ''); next }
    $process->{pid} = $pid;
    $process->{is_up} = 1;
    tell_of($id, 'p', "$pid$devices");
    if (exists $unclaimed{$pid}) { end_of($id, delete $unclaimed{$pid}) } else { $by_pid{$pid} = $id }
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
    else { $unclaimed{$pid} = $status }
  }
  %unclaimed = () unless %launchers;
}

sub handle {
  my ($id, $verb, @words) = split /\0/, $_[0], -1;
  pop @words;
  return start($id, $verb eq 'hold', @words) if $verb eq 'start' || $verb eq 'hold';
  return start_removal($id, $words[0]) if $verb eq 'remove';
  my $process = $running{$id} or return;
  if ($verb eq 'renew') { syswrite($process->{hand}, 'r') if $process->{hand} }
  elsif ($verb eq 'kill') { kill 'KILL', $process->{pid} unless $process->{ended} }
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
