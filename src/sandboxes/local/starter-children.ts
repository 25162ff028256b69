/**
 * What the children of the starter do, as Perl of starter-script.ts: a process of a sandbox is started in the order of the lines of `become`;
 * nothing of a sandbox can be seen before its control group holds the process.
 *
 * The first process of a sandbox is a fork of the starter that starts no other program: it has closed every file, sees an empty directory,
 * cannot be traced from inside, and ends when its pipe does. When told to, it kills all others of the sandbox at once, which no fork can
 * outrun, and replaces the namespaces of its network and its shared memory.
 *
 * A program on a terminal gets its far end; the near one is open in the process that the starter works for, which alone reads and
 * writes it. It is taken from there for a moment (`pidfd_getfd`) to unlock it and to set its size.
 *
 * Mounts are made in a mount namespace of their own, under the id of the sandbox's root: the kernel keeps it for what overlays do
 * later. Capabilities stay meanwhile. What is to be shown is opened first, among the mounts of the host: it may lie in a closed directory
 * above the sandboxes, which is covered, or on a disk that no sandbox sees otherwise.
 */
export const starterChildren = String.raw`
my ($report, $failure) = (undef, 'failed');
sub fail { my $why = $!; print STDERR "$_[0]: $why\n"; syswrite($report, $failure) if $report; syscall($exit_group, 126) }
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

sub is_needed {
  my ($at, $home) = @_;
  return 1 if $at eq '/' || index("$home/", "$at/") == 0;
  return $at =~ m{^/(proc|dev|usr|bin|sbin|lib\w*|etc|opt|nix|gnu)(/|$)} && $at !~ m{^/dev/(shm|mqueue|hugepages)$};
}

sub set_stage {
  my ($home) = @_;
  syscall($unshare, 0x20000) == 0 or fail('unshare');
  mount_at('none', '/', 'none', 0x44000, $empty);
  open(my $mounts, '<', '/proc/self/mountinfo') or fail('/proc/self/mountinfo');
  my @points = map { (split / /)[4] } <$mounts>;
  for my $at (@points) {
    $at =~ s/\\([0-7]{3})/chr oct $1/ge;
    syscall($umount, $at, 10) unless is_needed($at, $home);
  }
  my ($at, $covered) = ('', 0);
  for my $part (split m{/}, substr($home, 1)) {
    $at .= "/$part";
    if ($covered) { mkdir $at or fail($at) }
    elsif ($at ne $home && !((stat $at)[2] & 1)) { mount_at('tmpfs', $at, 'tmpfs', 6, 'mode=0755'); $covered = 1 }
  }
}

sub make_stage {
  my ($home) = @_;
  pipe(my $ready, my $tell) or return;
  pipe(my $hold, my $release) or return;
  my $pid = fork;
  return unless defined $pid;
  if ($pid == 0) {
    close $ready;
    close $release;
    set_stage($home);
    syswrite($tell, '1');
    sysread($hold, my $ignored, 1);
    syscall($exit_group, 0);
  }
  close $tell;
  close $hold;
  my $file;
  open($file, '<', "/proc/$pid/ns/mnt") or undef $file if sysread($ready, my $word, 1);
  close $release;
  waitpid $pid, 0;
  $stages{$home} = $file if $file;
}

sub mount_plan {
  my ($home, $plan, $first, $userns) = @_;
  my @plan = @$plan;
  my @parts;
  while (my @part = splice @plan, 0, 3) { push @parts, [@part, $part[0] eq 'overlay' ? undef : mapped($part[2], $part[0] eq 'idmap-ro' ? 1 : 0, $userns)] }
  my $tree = mapped($home, 0, $userns);
  if ($stages{$home}) { enter($stages{$home}); syscall($unshare, 0x20000) == 0 or fail('unshare') }
  else { set_stage($home) }
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

sub set_size {
  my ($terminal, $columns, $rows) = @_;
  my $size = pack('S4', $rows, $columns, 0, 0);
  ioctl($terminal, 0x5414, $size);
}

sub near_end {
  my ($number) = @_;
  my $fd = syscall(438, $client, $number + 0, 0);
  return if $fd < 0;
  open(my $near, '+<&=', $fd) or return;
  return $near;
}

sub far_end {
  my ($number, $columns, $rows, $first) = @_;
  my $near = near_end($number) or return;
  my $unlocked = pack('i', 0);
  ioctl($near, 0x40045431, $unlocked) or return;
  my $fd = ioctl($near, 0x5441, 0x80102) or return;
  open(my $far, '+<&=', $fd) or return;
  my $modes = pack('L4 C20', 0x6d02, 5, 0x4bf, 0x8a3b, 0, 3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 255, 18, 15, 23, 22, 255, 0, 0);
  ioctl($far, 0x5402, $modes) or return;
  set_size($far, $columns, $rows) or return;
  chown $first, $first, $far or return;
  return $far;
}

sub detach {
  my ($pipes, $terminal) = @_;
  for (0, 1, 2) { put(fileno($pipes->{$_} // $terminal // $null), $_) }
  $SIG{PIPE} = 'DEFAULT';
  syscall($setsid);
  if ($terminal) { ioctl(STDIN, 0x540e, 0) or fail('terminal') }
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

sub join_groups {
  my ($request) = @_;
  for (@{$request->{join}}) { open(my $file, '>', $_) or fail($_); defined syswrite($file, '0') or fail($_) }
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
  my ($request, $pipes, $terminal) = @_;
  detach($pipes, $terminal);
  join_groups($request);
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

sub be_remover {
  my ($jobs) = @_;
  put(fileno $jobs, 0);
  put(fileno $ack, 1);
  put(fileno $null, 2);
  syscall(436, 3, 0xffffffff, 0) == 0 or syscall($exit_group, 1);
  syscall($setsid);
  while (my $job = <STDIN>) {
    chomp $job;
    my ($id, $dir) = split / /, $job, 2;
    my $status = remove_tree($dir, 0) ? 0 : 256;
    defined syswrite(STDOUT, "d $id $status\n") or last;
  }
  syscall($exit_group, 0);
}

sub start_removal {
  my ($id, $dir) = @_;
  my ($pid) = grep { !defined $removers{$_}{id} } keys %removers;
  if (!defined $pid) {
    pipe(my $jobs, my $hand) or return tell_of($id, 'f', "pipe: $!");
    $pid = fork;
    return tell_of($id, 'f', "fork: $!") unless defined $pid;
    be_remover($jobs) if $pid == 0;
    $removers{$pid} = { hand => $hand };
  }
  $removers{$pid}{id} = $id;
  $running{$id} = { pid => $pid, open => {} };
  tell_of($id, 'p', $pid);
  syswrite($removers{$pid}{hand}, "$id $dir\n");
}

sub removed {
  my ($pid, $status) = @_;
  my $id = delete $removers{$pid}{id};
  end_of($id, $status) if defined $id;
}

`
