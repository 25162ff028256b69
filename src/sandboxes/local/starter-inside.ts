/** A sandbox that a command gets into without another program. */
export interface Inside {
  /** The file of its namespace of processes. */
  readonly pidns: string
  /** A filter of calls, as the kernel takes it. */
  readonly seccompFile: string
  /** The capabilities that stay, a bit for each. */
  readonly capabilities: number
  readonly cwd: string
  /** Where the root is mounted. */
  readonly merged: string
  /** Mounted inside, in order: kind (`rw`, `ro`, or `hide` for an empty directory), place and source of each. */
  readonly plan: readonly string[]
}

/**
 * How a command gets in without another program, as Perl of starter-script.ts. The starter enters the sandbox's namespaces itself, forks, and
 * comes back, so that the fork is born inside: it never sees the host's network, and its list of mounts is the sandbox's. It is the command, a child
 * of the starter. First it joins the control groups, and then it becomes root of the sandbox's users, with mounts of its own.
 *
 * Programs inside cannot look into it or take a file from it: it is the host's root until it has closed the starter's files, and then it is not
 * dumpable, and its memory belongs to the host's user namespace. A kill of all processes inside
 * may miss it while it is the host's root; `Machine.restart` waits for every command that is on its way in.
 *
 * What is shown is opened while the mounts of the host are there. They are taken away as soon as the sandbox's root is the root, before any path
 * inside is followed, so that no link leads out; a link in the place of a mount point is refused. Last go all but a few capabilities, the right
 * to gain others, and the calls that the filter forbids.
 *
 * If the command cannot be started, `missing` or `failed` is written to descriptor 3, and otherwise nothing.
 */
export const starterInside = String.raw`
my %filters;
sub filter_in {
  my ($path) = @_;
  return $filters{$path} if $filters{$path};
  open(my $file, '<', $path) or return;
  local $/;
  return $filters{$path} = <$file>;
}

sub tree_of {
  my ($source, $attributes) = @_;
  my $tree = syscall(428, -100, $source, 0x88001);
  $tree >= 0 or fail("open_tree $source");
  my $set = pack('Q4', $attributes, 0, 0, 0);
  syscall(442, $tree, $empty, 0x9000, $set, 32) == 0 or fail("mount_setattr $source");
  return $tree;
}

sub fresh {
  my ($type, $attributes, @options) = @_;
  push @options, source => $type;
  my $context = syscall(430, $type, 1);
  $context >= 0 or fail("fsopen $type");
  while (my ($name, $value) = splice @options, 0, 2) { syscall(431, $context, 1, $name, $value, 0) == 0 or fail("fsconfig $type") }
  syscall(431, $context, 6, 0, 0, 0) == 0 or fail("fsconfig $type");
  my $tree = syscall(432, $context, 1, $attributes);
  $tree >= 0 or fail("fsmount $type");
  return $tree;
}

sub mount_point { my ($at) = @_; lstat $at; -d _ or mkdir $at, 0755 or $! == 17 or fail("mkdir $at") }

my @devices = qw(null zero full random urandom tty);
sub make_root {
  my ($merged, @plan) = @_;
  mount_at('none', '/', 'none', 0x44000, $empty);
  my $root = tree_of($merged, 6);
  my @nodes = map { tree_of("/dev/$_", 2) } @devices;
  my @parts;
  while (my ($kind, $at, $source) = splice @plan, 0, 3) { push @parts, [$at, $kind eq 'hide' ? fresh('tmpfs', 6, size => '4096', mode => '0555') : tree_of($source, $kind eq 'ro' ? 7 : 6)] }
  my $proc = fresh('proc', 14);
  attach($root, $merged);
  chdir $merged or fail($merged);
  my $here = '.';
  syscall($pivot_root, $here, $here) == 0 or fail('pivot_root');
  syscall($umount, $here, 2) == 0 or fail('umount');
  chdir '/' or fail('/');
  mount_point('/proc');
  attach($proc, '/proc');
  mount_point('/dev');
  attach(fresh('tmpfs', 6, mode => '0755'), '/dev');
  for (0 .. $#devices) {
    open(my $file, '>', "/dev/$devices[$_]") or fail("/dev/$devices[$_]");
    attach($nodes[$_], "/dev/$devices[$_]");
  }
  symlink "/proc/self/fd/$_->[0]", "/dev/$_->[1]" for [0, 'stdin'], [1, 'stdout'], [2, 'stderr'];
  symlink '/proc/self/fd', '/dev/fd';
  symlink '/proc/kcore', '/dev/core';
  mkdir '/dev/pts', 0755;
  mkdir '/dev/shm', 0755;
  attach(fresh('devpts', 10, ptmxmode => '0666', mode => '0620'), '/dev/pts');
  symlink 'pts/ptmx', '/dev/ptmx';
  for (@parts) { mount_point($_->[0]) unless $_->[0] =~ m{^/proc/}; attach($_->[1], $_->[0]) }
}

sub keep_capabilities {
  my ($kept) = @_;
  for (grep { !($kept & 1 << $_) } 0 .. 63) {
    next if syscall($prctl, 24, $_, 0, 0, 0) == 0;
    # The one after the last that this kernel knows.
    last if $! == 22;
    fail('prctl');
  }
  my $header = pack('L2', 0x20080522, 0);
  my $sets = pack('L6', $kept, $kept, $kept, 0, 0, 0);
  syscall($capset, $header, $sets) == 0 or fail('capset');
  for (grep { $kept & 1 << $_ } 0 .. 31) { syscall($prctl, 47, 2, $_, 0, 0) == 0 or fail('prctl') }
}

sub be_command {
  my ($request) = @_;
  my (undef, undef, $kept, $cwd, @root) = @{$request->{inside}};
  syscall(436, 4, 0xffffffff, 0) == 0 or fail('close_range');
  syscall($prctl, 38, 1, 0, 0, 0) == 0 or fail('prctl');
  make_root(@root);
  keep_capabilities($kept + 0);
  chdir $cwd or fail("cannot enter $cwd");
  %ENV = (map({ split /=/, $_, 2 } @{$request->{env}}), PWD => $cwd);
  my @argv = @{$request->{argv}};
  syscall(436, 3, 0xffffffff, 4) == 0 or fail('close_range');
  my $program = pack('S x6 P', length($request->{filter}) / 8, $request->{filter});
  syscall($prctl, 22, 2, $program, 0, 0) == 0 or fail('seccomp');
  exec { $argv[0] } @argv;
  $failure = 'missing' if $! == 2;
  fail("cannot run $argv[0]");
}

sub go_inside {
  my ($request, $pipes) = @_;
  $0 = 'sandbox';
  $report = $pipes->{3};
  detach($pipes);
  if ($request->{refusal}) { (my $what, $!) = @{$request->{refusal}}; fail($what) }
  for (@{$request->{groups}}) { defined syswrite($_, '0') or fail('control group') }
  my @kept = map { fcntl($_, 1030, 32) or fail('fcntl') } $report, $request->{users};
  put($kept[$_] + 0, 3 + $_) for 0, 1;
  open($report, '>&=', 3) or fail('report');
  open(my $users, '<&=', 4) or fail('user namespace');
  syscall(436, 5, 0xffffffff, 0) == 0 or fail('close_range');
  become_root($users);
  # Another user begins with what the machine allows.
  syscall($prctl, 4, 0, 0, 0, 0) == 0 or fail('prctl');
  syscall($unshare, 0x20000) == 0 or fail('unshare');
  be_command($request);
}

my @home = map { open(my $file, '<', "/proc/self/ns/$_") or die "/proc/self/ns/$_: $!\n"; $file } qw(pid mnt ipc uts net);
opendir(my $top, '/') or die "/: $!\n";

# A starter that is still inside can serve no other sandbox.
sub come_back {
  for (@home) { syscall($setns, fileno $_, 0) == 0 or die "setns: $!\n" }
  chdir $top and chroot '.' or die "chroot: $!\n";
}

sub refuse { my ($request, $what) = @_; $request->{refusal} = [$what, $! + 0]; return fork }

# Returns what fork does. If there is no way in, it is a process that will say why.
sub fork_inside {
  my ($request) = @_;
  my ($pidns, $filter_path) = @{$request->{inside}};
  $request->{filter} = filter_in($filter_path) or return refuse($request, $filter_path);
  my @files;
  for (map({ ['>', $_] } @{$request->{join}}), map { ['<', $_] } $request->{userns}, @{$request->{namespaces}}, $pidns) {
    open(my $file, $_->[0], $_->[1]) or return refuse($request, $_->[1]);
    push @files, $file;
  }
  $request->{groups} = [splice @files, 0, scalar @{$request->{join}}];
  $request->{users} = shift @files;
  my $is_there = 1;
  for (@files) { $is_there &&= syscall($setns, fileno $_, 0) == 0 }
  my $pid = $is_there ? fork : undef;
  return $pid if defined $pid && $pid == 0;
  my $why = $!;
  come_back();
  return $pid if defined $pid;
  $! = $why;
  return refuse($request, $is_there ? 'fork' : 'setns');
}
`
