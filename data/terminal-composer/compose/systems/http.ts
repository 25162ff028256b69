import { simpleWork } from '../files/simple-work.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type Exchange, type HttpService, httpServices } from './http-services.ts'
import { type Bug, breakProgram, drawBugs, repairShell } from './repair.ts'

const resources = 'items parts books rooms tools plants songs routes orders boats maps seeds'.split(' ')

/** A server around the subroutine `answer`. Its arguments are a port and a file of records. */
const server = (answer: string) => `#!/usr/bin/perl
use strict;
use warnings;
use IO::Socket::INET;

my ($port, $file) = @ARGV;
my %data;
open my $in, '<', $file or die "cannot read $file\\n";
while (my $line = <$in>) {
  chomp $line;
  my ($name, $value) = split /\\t/, $line;
  $data{$name} = $value;
}
close $in;

my %reason = (200 => 'OK', 201 => 'Created', 400 => 'Bad Request', 404 => 'Not Found', 405 => 'Method Not Allowed');
$SIG{TERM} = sub { exit 0 };
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 16, ReuseAddr => 1)
  or die "cannot listen on $port\\n";
while (my $client = $server->accept) {
  my $head = <$client>;
  next unless defined $head && $head =~ m{^(\\S+) (\\S+) HTTP/1};
  my ($method, $target) = ($1, $2);
  my $length = 0;
  while (defined(my $line = <$client>)) {
    last if $line =~ /^\\r?\\n$/;
    $length = $1 if $line =~ /^content-length:\\s*(\\d+)/i;
  }
  my $body = '';
  read $client, $body, $length if $length > 0;
  my ($path, $query) = split /\\?/, $target, 2;
  my %arg;
  for my $pair (split /&/, $query // '') {
    my ($key, $value) = split /=/, $pair, 2;
    $arg{decode($key)} = decode($value // '');
  }
  my ($status, $text) = answer($method, decode($path), \\%arg, $body);
  print $client "HTTP/1.1 $status $reason{$status}\\r\\nContent-Type: text/plain\\r\\n";
  print $client "Content-Length: " . length($text) . "\\r\\nConnection: close\\r\\n\\r\\n$text";
  close $client;
}

sub decode {
  my ($text) = @_;
  $text =~ tr/+/ /;
  $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
  return $text;
}

${answer}`

/** Bugs of the server itself. Bugs in bodies and queries show only in services that have them. */
const serverBugs: readonly Bug[] = [
  ['length($text) .', '(length($text) + 1) .'],
  ['[0-9A-Fa-f]{2}', '[0-9]{2}'],
  ['LocalPort => $port', 'LocalPort => 8080'],
  ['split /\\t/, $line', "split ' ', $line"],
]
const bodyBugs: readonly Bug[] = [
  ['(\\d+)/i;', '(\\d+)/;'],
  ['read $client, $body, $length if', 'read $client, $body, $length - 1 if'],
]
const queryBugs: readonly Bug[] = [
  ['tr/+/ /', 'tr/+/+/'],
  ['split /\\?/, $target, 2', '($target)'],
]

function bugsOf({ name, bugs }: HttpService): readonly Bug[] {
  const shared = serverBugs.filter(([right]) => name !== 'counters' || !right.startsWith('split'))
  return [...bugs, ...shared, ...(name === 'lookup' ? queryBugs : bodyBugs)]
}

/** Starts the server on a free port, sends requests and prints the replies. */
const clientScript = `use strict;
use IO::Socket::INET;
my ($program, $data, $requests) = @ARGV;
my $free = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die;
my $port = $free->sockport;
close $free;
my $pid = fork // die;
if (!$pid) { open STDOUT, '>', '/dev/null'; exec 'perl', $program, $port, $data or exit 1 }
END { kill 'TERM', $pid if $pid }
$SIG{ALRM} = sub { print "no answer\\n"; exit 1 };
sub dial { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) }
my $first;
for (1 .. 100) { last if $first = dial(); select undef, undef, undef, 0.03 }
close $first if $first;
open my $in, '<', $requests or die;
while (<$in>) {
  chomp;
  my ($method, $target, $body) = split /\\t/, $_, -1;
  $body =~ s/\\\\n/\\n/g;
  alarm 3;
  my $socket = dial() or do { print "no connection\\n"; exit 1 };
  my $more = $body eq '' ? '' : 'content-length: ' . length($body) . "\\r\\n";
  print $socket "$method $target HTTP/1.1\\r\\nHost: localhost\\r\\n$more\\r\\n$body";
  my $answer = do { local $/; <$socket> } // '';
  my ($head, $text) = split /\\r\\n\\r\\n/, $answer, 2;
  my ($status) = $head =~ m{^HTTP/1\\.[01] (\\d+)};
  my ($length) = $head =~ /^content-length: *(\\d+)/im;
  print "$status ", $length == length $text ? 'complete' : 'wrong length', "\\n$text\\n";
}
`

const shown = ({ status, body }: Exchange) => `${status} complete\n${body}\n`
const records = (data: Map<string, string>) => [...data].map(([name, value]) => `${name}\t${value}\n`).join('')

const repairHttp: Operation = {
  name: 'repair-http-service',
  domains: ['http'],
  make: (draw) => {
    const { random, level, root } = draw
    const service = random.pick(httpServices)
    const things = random.pick(resources)
    const good = server(service.code(things))
    const bugs = drawBugs(random, good, bugsOf(service), byLevel(level, 1, 2, random.int(3, 4)))
    const broken = breakProgram(good, bugs)
    if (broken === null) return null
    const [path, sample] = [random.pick(['server.pl', 'service.pl', 'app/serve.pl']), `${things}.tsv`]
    const hidden: Record<string, string> = { 'client.pl': clientScript }
    const probes = ['1', '2'].map((label) => {
      const other = random.fork(`talk ${label}`)
      const data = service.data(other)
      hidden[`${label}.tsv`] = records(data)
      const talk = service.talk(other, data, things)
      hidden[`${label}.requests`] = talk.map(({ request }) => `${request.join('\t')}\n`).join('')
      const command = `perl "$hidden/client.pl" ${root}/${path} "$hidden/${label}.tsv" "$hidden/${label}.requests"`
      return { command, stdout: talk.map(shown).join('') }
    })
    const start = file(records(service.data(random)))
    return simpleWork(draw, {
      domain: 'http',
      operation: 'repair-http-service',
      shape: service.name,
      faults: bugs.map(() => 'service-bug'),
      ask: tellHttp(draw, { path, sample, count: bugs.length, routes: service.routes(things) }),
      before: { [path]: file(broken, '755'), [sample]: start },
      after: { [path]: { kind: 'some' }, [sample]: start },
      probes,
      hidden,
      solve: repairShell(path, broken, good),
    })
  },
}

interface Told {
  readonly path: string
  readonly sample: string
  readonly count: number
  readonly routes: readonly string[]
}

function tellHttp({ random, root }: Draw, { path, sample, count, routes }: Told): string[] {
  const some = count === 1 ? 'one bug' : `${count} bugs`
  const call = `perl ${root}/${path} PORT FILE`
  return [
    random.pick([
      `\`${root}/${path}\` is a small web service in Perl. \`${call}\` starts it: it reads tab-separated names and values from FILE and listens on port PORT of 127.0.0.1. It has ${some}. Fix the file in place.`,
      `Users are complaining about the web service \`${root}/${path}\`: it has ${some}. Find and fix ${count === 1 ? 'it' : 'them'} in that file. The service is started with \`${call}\`, serves HTTP on that port of 127.0.0.1, and loads its initial records (a name, a tab, a value) from FILE.`,
      `Fix the HTTP service in \`${root}/${path}\`, which contains ${some}. \`${call}\` starts it on 127.0.0.1 with the records in FILE: one per line, name and value separated by a tab.`,
    ]),
    `${random.pick(['It should respond as follows:', 'This is what it should do:', 'These are the intended routes:'])}\n\n${routes.map((route) => `- ${route}`).join('\n')}`,
    random.pick([
      'Every response has the content type text/plain and a correct Content-Length. The status is 200 unless stated otherwise. An unknown path or name gets status 404 and the text `not found`; a method that a path does not support gets 405 and `method not allowed`; both texts end with a newline. Names in paths and values in queries may be percent-encoded (with upper- or lowercase hex digits), and in queries + stands for a space. Header names are case-insensitive.',
      'Unless stated otherwise, the status is 200. Paths and names that do not exist get 404 and `not found`, unsupported methods get 405 and `method not allowed`, each followed by a newline. The body is plain text, and Content-Length gives its size in bytes. Percent-encoded characters are decoded (hex digits in upper or lower case), and + in a query means a space. Clients may send header names in any case.',
    ]),
    random.pick([
      `You can try it with \`${root}/${sample}\`, but leave that file as it is. The tests start the service with other files and ports, and stop it with SIGTERM.`,
      `Try it with \`${root}/${sample}\`, which must not change. It will be tested on another port and with other records. curl may not be installed here, but you can send HTTP requests from Perl or through /dev/tcp in bash.`,
    ]),
  ]
}

/** Operations on web services. */
export const httpOperations: readonly Operation[] = [repairHttp]
