import type { Draws } from 'ot-agent'
import { simpleWork } from '../files/simple-work.ts'
import { plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type Bug, breakProgram, drawBugs, repairShell } from './repair.ts'

/** A line protocol over TCP. `say` answers one line; each connection has its own state, and so has the server. */
interface Protocol {
  readonly name: string
  readonly rules: readonly string[]
  readonly code: string
  readonly bugs: readonly Bug[]
  readonly say: (line: string, own: State, all: State) => string
  readonly draw: (random: Draws) => string
  /** Lines that open every conversation, so that each bug shows; and the request for a connection's own state. */
  readonly begin: readonly string[]
  readonly own: string
}
type State = Map<string, string>

const storeProtocol: Protocol = {
  name: 'shared-store',
  rules: [
    '`SET KEY VALUE` stores VALUE, which may contain spaces, under KEY for all clients and replies `OK`',
    '`GET KEY` replies with `VALUE`, a space and the value, or with `NONE` if there is no such key',
    '`DEL KEY` deletes the key and replies `OK`, even if there is no such key',
    '`MINE` replies with the number of `SET` lines sent over this connection',
  ],
  code: `sub say_line {
  my ($line, $own) = @_;
  if ($line =~ /^SET (\\S+) (.*)$/) { $all{$1} = $2; $own->{sets}++; return 'OK' }
  if ($line =~ /^GET (\\S+)$/) { return exists $all{$1} ? "VALUE $all{$1}" : 'NONE' }
  if ($line =~ /^DEL (\\S+)$/) { delete $all{$1}; return 'OK' }
  if ($line eq 'MINE') { return $own->{sets} // 0 }
  return 'ERROR';
}
`,
  bugs: [
    ['(\\S+) (.*)$/) { $all', '(\\S+) (\\S+)/) { $all'],
    ['$own->{sets}++', '$own->{sets} = 1'],
    ["delete $all{$1}; return 'OK'", "return delete $all{$1} ? 'OK' : 'NONE'"],
    [": 'NONE' }", ": 'VALUE ' }"],
    ["return 'ERROR';", "return 'OK';"],
  ],
  say: (line, own, all) => {
    const [, word = '', key = '', value = ''] = /^(\S+)(?: (\S+))?(?: (.*))?$/.exec(line) ?? []
    if (word === 'SET' && value !== '') {
      own.set('sets', String(Number(own.get('sets') ?? 0) + 1))
      all.set(key, value)
      return 'OK'
    }
    if (word === 'GET') return all.has(key) ? `VALUE ${all.get(key)}` : 'NONE'
    if (word === 'DEL') all.delete(key)
    if (word === 'DEL') return 'OK'
    return word === 'MINE' ? (own.get('sets') ?? '0') : 'ERROR'
  },
  begin: ['SET gray one two', 'SET gray three four', 'GET gray', 'MINE', 'DEL pink', 'GET pink', 'STATUS'],
  own: 'MINE',
  draw: (random) => {
    const key = random.pick(['red', 'blue', 'green'])
    const words = random.few(plainWords, random.int(2, 3)).join(' ')
    return random.pick([
      `SET ${key} ${words}`,
      `SET ${key} ${words}`,
      `GET ${key}`,
      `GET ${key}`,
      `DEL ${key}`,
      'MINE',
      'STATUS',
    ])
  },
}

const sumProtocol: Protocol = {
  name: 'running-sums',
  rules: [
    '`ADD N` adds the whole number N (possibly negative) to the sum of this connection and replies with the new sum',
    '`UNDO` undoes the last `ADD` of this connection that has not been undone yet and replies with the new sum, or with `EMPTY` if there is nothing to undo',
    '`TOTAL` replies with the sum of all numbers that clients have added, and not undone, since the server started',
  ],
  code: `sub say_line {
  my ($line, $own) = @_;
  if ($line =~ /^ADD (-?\\d+)$/) { push @{$own->{done}}, $1; $own->{sum} += $1; $all{total} += $1; return $own->{sum} }
  if ($line eq 'UNDO') {
    my $last = pop @{$own->{done} // []};
    return 'EMPTY' unless defined $last;
    $own->{sum} -= $last;
    $all{total} -= $last;
    return $own->{sum};
  }
  return $all{total} // 0 if $line eq 'TOTAL';
  return 'ERROR';
}
`,
  bugs: [
    ['(-?\\d+)', '(\\d+)'],
    ['pop @{', 'shift @{'],
    ['$all{total} -= $last;', '$all{total} -= 0;'],
    ["'EMPTY' unless defined $last", '0 unless $last'],
    ['$own->{sum} -= $last', '$own->{sum} = $last'],
  ],
  say: (line, own, all) => {
    const done: number[] = JSON.parse(own.get('done') ?? '[]')
    const total = Number(all.get('total') ?? 0)
    const keep = (now: number[], by: number) => {
      own.set('done', JSON.stringify(now))
      all.set('total', String(total + by))
      return String(now.reduce((sum, one) => sum + one, 0))
    }
    const added = /^ADD (-?\d+)$/.exec(line)?.[1]
    if (added !== undefined) return keep([...done, Number(added)], Number(added))
    if (line === 'UNDO') return done.length === 0 ? 'EMPTY' : keep(done.slice(0, -1), -(done.at(-1) ?? 0))
    return line === 'TOTAL' ? String(total) : 'ERROR'
  },
  begin: ['ADD -5', 'ADD 7', 'ADD 30', 'UNDO', 'TOTAL', 'UNDO', 'UNDO', 'UNDO', 'ADD 11', 'CLEAR'],
  own: 'ADD 1',
  draw: (random) =>
    random.pick([`ADD ${random.int(-40, 90)}`, `ADD ${random.int(2, 500)}`, 'UNDO', 'UNDO', 'TOTAL', 'CLEAR']),
}

const server = (code: string) => `#!/usr/bin/perl
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 16, ReuseAddr => 1)
  or die "cannot listen on $ARGV[0]\\n";
$SIG{TERM} = sub { exit 0 };
$SIG{PIPE} = 'IGNORE';
my $select = IO::Select->new($server);
my (%buffer, %own, %all);
while (1) {
  for my $ready ($select->can_read) {
    if ($ready == $server) { $select->add($server->accept); next }
    my $read = sysread $ready, my $chunk, 4096;
    if (!$read) { leave($ready); next }
    $buffer{$ready} .= $chunk;
    while ($buffer{$ready} =~ s/^([^\\n]*)\\n//) {
      my $line = $1;
      $line =~ s/\\r$//;
      if ($line eq 'QUIT') { syswrite $ready, "BYE\\n"; leave($ready); last }
      $own{$ready} //= {};
      syswrite $ready, say_line($line, $own{$ready}) . "\\n";
    }
  }
}

sub leave {
  my ($client) = @_;
  $select->remove($client);
  delete $buffer{$client};
  delete $own{$client};
  close $client;
}

${code}`

const serverBugs: readonly Bug[] = [
  ['while ($buffer{$ready} =~', 'if ($buffer{$ready} =~'],
  ['$buffer{$ready} .= $chunk', '$buffer{$ready} = $chunk'],
  ['$line =~ s/\\r$//', '$line =~ s/\\t$//'],
  ['  delete $own{$client};', '  %own = ();'],
  ['say_line($line, $own{$ready})', 'say_line($line, $own{server})'],
  ['LocalPort => $ARGV[0],', 'LocalPort => 7000,'],
  ['"BYE\\n"; leave', '"OK\\n"; leave'],
]

/** Starts the server on a free port, performs each line of the script, and prints the replies. */
const dialogueScript = `use strict;
use IO::Socket::INET;
my ($program, $script) = @ARGV;
my $free = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die;
my $port = $free->sockport;
close $free;
my $pid = fork // die;
if (!$pid) { open STDOUT, '>', '/dev/null'; exec 'perl', $program, $port or exit 1 }
END { kill 'TERM', $pid if $pid }
$SIG{ALRM} = sub { print "no answer\\n"; exit 1 };
sub dial { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) }
for (1 .. 100) { last if dial(); select undef, undef, undef, 0.03 }
my %socket;
open my $in, '<', $script or die;
while (<$in>) {
  chomp;
  my ($do, $who, $what) = split /\\t/;
  $what =~ s/\\\\r/\\r/g;
  $what =~ s/\\\\n/\\n/g;
  alarm 2;
  if ($do eq 'open') { $socket{$who} = dial() or do { print "no connection\\n"; exit 1 } }
  elsif ($do eq 'send') { syswrite $socket{$who}, $what; select undef, undef, undef, 0.02 }
  else { for (1 .. $what) { my $line = readline $socket{$who}; print "$who ", $line // "closed\\n" } }
}
`

/** What two clients send in turn, whole, in pieces, or several lines at once, and what they receive. */
function drawTalk(
  random: Draws,
  { say, draw, begin, own }: Protocol,
): { readonly script: string; readonly heard: string } {
  const all: State = new Map()
  const states = { a: new Map<string, string>(), b: new Map<string, string>() }
  const steps = ['open\ta\t', 'open\tb\t']
  const heard: string[] = []
  const turn = (who: 'a' | 'b', said: readonly string[], isCut: boolean) => {
    const text = said.map((line) => `${line}${random.chance(0.3) || isCut ? '\\r' : ''}\\n`).join('')
    const cut = random.int(1, (said[0]?.length ?? 2) - 1)
    const pieces = isCut ? [text.slice(0, cut), text.slice(cut)] : [text]
    steps.push(...pieces.map((piece) => `send\t${who}\t${piece}`), `read\t${who}\t${said.length}`)
    heard.push(...said.map((line) => `${who} ${say(line, states[who], all)}\n`))
  }
  const someTurns = () => {
    for (let nth = 0; nth < 5; nth++) {
      const said = Array.from({ length: random.int(1, 3) }, () => draw(random))
      turn(random.pick(['a', 'b']), said, random.chance(0.4))
    }
  }
  turn('b', begin, false)
  turn('a', [draw(random), own], true)
  someTurns()
  steps.push('send\ta\tQUIT\\n', 'read\ta\t2', 'open\ta\t')
  heard.push('a BYE\n', 'a closed\n')
  states.a = new Map()
  turn('b', [own], false)
  turn('a', [own], true)
  someTurns()
  return { script: steps.map((step) => `${step}\n`).join(''), heard: heard.join('') }
}

const repairProtocol: Operation = {
  name: 'repair-line-protocol',
  domains: ['sockets'],
  make: (draw) => {
    const { random, level } = draw
    const protocol = random.pick([storeProtocol, sumProtocol])
    const good = server(protocol.code)
    const own = drawBugs(random, good, protocol.bugs, byLevel(level, random.int(0, 1), 1, 2))
    const shared = drawBugs(random, good, serverBugs, byLevel(level, 1 - own.length, 1, random.int(1, 2)))
    const bugs = [...own, ...shared]
    const broken = breakProgram(good, bugs)
    if (broken === null) return null
    const path = random.pick(['server.pl', 'lined.pl', 'bin/lines.pl', 'src/tcp-server.pl'])
    const hidden: Record<string, string> = { 'dialogue.pl': dialogueScript }
    const probes = ['1', '2'].map((label) => {
      const { script, heard } = drawTalk(random.fork(`talk ${label}`), protocol)
      hidden[`${label}.script`] = script
      return { command: `perl "$hidden/dialogue.pl" ${draw.root}/${path} "$hidden/${label}.script"`, stdout: heard }
    })
    return simpleWork(draw, {
      domain: 'sockets',
      operation: 'repair-line-protocol',
      shape: protocol.name,
      faults: bugs.map(() => 'service-bug'),
      ask: tellProtocol(draw, path, bugs.length, protocol.rules),
      before: { [path]: file(broken, '755') },
      after: { [path]: { kind: 'some' } },
      probes,
      hidden,
      solve: repairShell(path, broken, good),
    })
  },
}

function tellProtocol({ random, words, root }: Draw, path: string, count: number, rules: readonly string[]): string[] {
  const some = count === 1 ? 'a bug' : `${count} bugs`
  return [
    words.say(
      random.pick([
        `The server \`${root}/${path}\` speaks a line-based protocol over TCP. \`perl ${root}/${path} PORT\` starts it on 127.0.0.1. There ${count === 1 ? 'is' : 'are'} ${some} in it. Fix the file in place.`,
        `\`perl ${root}/${path} PORT\` runs a TCP server on 127.0.0.1 that answers each line of a client with one line. Because of ${some}, it does not behave as described below. Fix the program in place.`,
        `Debug \`${root}/${path}\`, a TCP server in Perl that takes the port to listen on (on 127.0.0.1) as its only argument. It contains ${some}.`,
      ]),
      [
        `\`${root}/${path}\` is a TCP server in Perl that is started with \`perl ${root}/${path} PORT\` and listens on that port of 127.0.0.1. To each line from a client, it replies with one line. It has ${some}; please correct the file in place.`,
        `Please repair \`${root}/${path}\`. It is a server for a line-based protocol over TCP that listens on 127.0.0.1, on the port given as its only argument (\`perl ${root}/${path} PORT\`), and it suffers from ${some}. Make your changes in that file.`,
        `Our line server does not keep to its protocol, because there ${count === 1 ? 'is' : 'are'} ${some} in \`${root}/${path}\`. \`perl ${root}/${path} PORT\` starts it on that TCP port of 127.0.0.1. Edit the file so that the server does what is described below.`,
        `What is wrong with \`${root}/${path}\`? This Perl program, run as \`perl ${root}/${path} PORT\`, should serve the line protocol below over TCP on 127.0.0.1, but contains ${some}. Find and fix ${count === 1 ? 'it' : 'them'} in place.`,
      ],
    ),
    `${words.say(
      random.pick(['A client can send these lines:', 'The commands:', 'These are the lines it understands:']),
      [
        'These requests exist:',
        'The requests and the replies to them:',
        'What a client may send, and what happens then:',
        'The protocol has these commands:',
        'The server should handle these lines:',
      ],
    )}\n\n${[...rules, '`QUIT` replies `BYE` and closes the connection'].map((rule) => `- ${rule}`).join('\n')}`,
    words.say(
      random.pick([
        'The reply to any other line is `ERROR`. Clients end their lines with LF or CR LF; replies always end with LF. Many clients may be connected at the same time, no client may hold up another, and a line may arrive in several pieces or together with other lines.',
        'The reply to anything else is `ERROR`. A client may end its lines with LF or CR LF; the server always uses LF. TCP does not preserve line boundaries: one packet may contain half a line or three lines. Several clients talk to the server at once, and each gets its replies without waiting for the others.',
      ]),
      [
        'Any other line gets the reply `ERROR`. Lines from clients end with LF or CR LF, lines from the server always with LF. Data may come in any portions: part of a line, one line or several at a time. The server has many clients at the same time, and none of them may have to wait for another.',
        'Everything else is answered with `ERROR`. The server must accept both LF and CR LF as the end of a line, and always ends its own lines with LF. It must cope with a line that reaches it in several pieces and with lines that reach it together, and it must serve many connected clients at the same time without letting one hold up the others.',
        'If a line is none of these, the server replies `ERROR`. Line ends: LF or CR LF in requests, always LF in replies. Since TCP is a stream, a read may return half a line, or more than one. Several clients can be connected at once; each is answered without waiting for the others.',
      ],
    ),
    words.say(
      random.pick([
        'The tests start it on a free port, connect two clients, and stop it with SIGTERM.',
        'It will be started on a free port, and two clients will talk to it at once. To try it out, you can use Perl or /dev/tcp in bash.',
      ]),
      [
        'The checks run it on some free port, talk to it from two clients at the same time, and end it with SIGTERM.',
        'For the tests it is started on a free port, serves two clients at once, and is finally sent SIGTERM. You can talk to it yourself from Perl or, in bash, through /dev/tcp.',
        'I will start it on a port that is free, connect two clients, and stop it with SIGTERM.',
        'Testing: a free port, two simultaneous clients, SIGTERM to stop. Perl or /dev/tcp in bash will do for trying it out.',
      ],
    ),
  ]
}

/** Operations on TCP servers. */
export const socketOperations: readonly Operation[] = [repairProtocol]
