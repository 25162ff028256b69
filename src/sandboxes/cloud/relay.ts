/**
 * A listener on a machine's own loopback, in the two languages that most images have. It prints `port N` once, then
 * `open ID`, `data ID BASE64`, `end ID`; it reads `data`, `end` and `close`, and ends when its input ends.
 */
export const pythonRelay = `import sys, os, socket, selectors, base64
try:
    import tty; tty.setraw(0)
except Exception: pass
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(128)
poll = selectors.DefaultSelector(); poll.register(server, 1); poll.register(0, 1)
open_, count, rest = {}, 0, b''
def say(text):
    data = (text + chr(10)).encode()
    while data: data = data[os.write(1, data):]
def forget(id):
    s = open_.pop(id, None)
    if s:
        try: poll.unregister(s)
        except Exception: pass
        s.close()
def take(line):
    words = line.decode().split(' ')
    s = open_.get(words[1]) if len(words) > 1 else None
    if s is None: return
    try:
        if words[0] == 'data': s.sendall(base64.b64decode(words[2]))
        elif words[0] == 'end': s.shutdown(socket.SHUT_WR)
        elif words[0] == 'close': forget(words[1])
    except OSError: forget(words[1]); say('end ' + words[1])
say('port %d' % server.getsockname()[1])
while True:
    for key, _ in poll.select():
        if key.fileobj is server:
            s, _ = server.accept(); count += 1; id = str(count); open_[id] = s
            poll.register(s, 1, id); say('open ' + id)
        elif key.fileobj == 0:
            data = os.read(0, 65536)
            if not data: sys.exit()
            lines = (rest + data).split(b'\\n'); rest = lines.pop()
            for line in lines: take(line)
        else:
            if key.data not in open_: continue
            try: data = key.fileobj.recv(32768)
            except OSError: data = b''
            if data: say('data %s %s' % (key.data, base64.b64encode(data).decode()))
            else: poll.unregister(key.fileobj); say('end ' + key.data)
`

export const perlRelay = `use strict; use Socket; use IO::Handle; use IO::Select;
$SIG{PIPE} = 'IGNORE';
socket(my $server, PF_INET, SOCK_STREAM, 0); bind($server, sockaddr_in(0, INADDR_LOOPBACK)); listen($server, 128);
my ($port) = sockaddr_in(getsockname($server));
my $poll = IO::Select->new($server, \\*STDIN); my (%open, %ids, $count, $rest); $count = 0; $rest = '';
sub put { my ($to, $data) = @_; while (length $data) { my $n = syswrite($to, $data); return 0 unless defined $n; substr($data, 0, $n) = ''; } 1 }
sub say_ { put(\\*STDOUT, $_[0] . "\\n") }
sub encode { my $out = ''; my $at = 0; my $in = $_[0];
  my @a = ('A'..'Z', 'a'..'z', '0'..'9', '+', '/');
  while ($at < length $in) { my $part = substr($in, $at, 3); $at += 3; my $bits = unpack('B*', $part); $bits .= '0' x ((6 - length($bits) % 6) % 6);
    my $word = join '', map { $a[oct("0b$_")] } $bits =~ /(.{6})/g; $out .= $word . '=' x (4 - length $word); }
  $out }
sub decode { my $in = $_[0]; $in =~ tr#A-Za-z0-9+/##cd; $in =~ tr#A-Za-z0-9+/# -_#; my $out = '';
  while ($in =~ s/^(.{1,60})//) { my $part = $1; $out .= unpack('u', chr(32 + int(length($part) * 3 / 4)) . $part); } $out }
sub forget { my $s = delete $open{$_[0]} or return; delete $ids{fileno $s}; $poll->remove($s); close $s; }
sub take { my ($kind, $id, $data) = split / /, $_[0]; my $s = $open{$id // ''} or return;
  if ($kind eq 'data') { unless (put($s, decode($data))) { forget($id); say_("end $id"); } }
  elsif ($kind eq 'end') { shutdown($s, 1) } elsif ($kind eq 'close') { forget($id) } }
say_("port $port");
while (my @ready = $poll->can_read) { for my $s (@ready) {
  if ($s == $server) { accept(my $new, $server) or next; my $id = ++$count; $open{$id} = $new; $ids{fileno $new} = $id; $poll->add($new); say_("open $id"); }
  elsif (fileno($s) == 0) { my $n = sysread(STDIN, my $data, 65536); exit unless $n; $rest .= $data; while ($rest =~ s/^([^\\n]*)\\n//) { take($1) } }
  else { my $fd = fileno $s; next unless defined $fd; my $id = $ids{$fd}; my $n = sysread($s, my $data, 32768);
    if ($n) { say_("data $id " . encode($data)) } else { $poll->remove($s); say_("end $id"); } } } }
`
