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

function tellHttp({ random, words, root }: Draw, { path, sample, count, routes }: Told): string[] {
  const some = count === 1 ? 'one bug' : `${count} bugs`
  const call = `perl ${root}/${path} PORT FILE`
  return [
    words.say(
      random.pick([
        `\`${root}/${path}\` is a small web service in Perl. \`${call}\` starts it: it reads tab-separated names and values from FILE and listens on port PORT of 127.0.0.1. It has ${some}. Fix the file in place.`,
        `Users are complaining about the web service \`${root}/${path}\`: it has ${some}. Find and fix ${count === 1 ? 'it' : 'them'} in that file. The service is started with \`${call}\`, serves HTTP on that port of 127.0.0.1, and loads its initial records (a name, a tab, a value) from FILE.`,
        `Fix the HTTP service in \`${root}/${path}\`, which contains ${some}. \`${call}\` starts it on 127.0.0.1 with the records in FILE: one per line, name and value separated by a tab.`,
      ]),
      [
        `There ${count === 1 ? 'is' : 'are'} ${some} in \`${root}/${path}\`, a small web service written in Perl. Please repair the file in place. To start the service, run \`${call}\`: it loads its records from FILE, each line of which is a name, a tab and a value, and serves HTTP on port PORT of 127.0.0.1.`,
        `Debug the Perl web service \`${root}/${path}\` and correct that file itself: it contains ${some}. When started as \`${call}\`, it reads records (one per line, name and value separated by a tab) from FILE and then listens on 127.0.0.1, port PORT.`,
        `I have a little HTTP server in Perl, \`${root}/${path}\`, which does not work properly because of ${some}. Its command line is \`${call}\`, where PORT is the port of 127.0.0.1 to listen on and FILE holds the initial records: lines with a name, a tab and a value. Can you fix it in place?`,
        `What is wrong with \`${root}/${path}\`? Somewhere in this HTTP service, started with \`${call}\`, there ${count === 1 ? 'is' : 'are'} ${some}. Edit the file so that the service does what is described below. PORT is its port on 127.0.0.1; FILE supplies the records to begin with, one name and value per line with a tab between them.`,
      ],
    ),
    `${words.say(
      random.pick(['It should respond as follows:', 'This is what it should do:', 'These are the intended routes:']),
      [
        'Expected behavior, route by route:',
        'A correct version answers requests like this:',
        'The routes, and how each of them must behave:',
        'The service is supposed to offer these routes:',
        'When it works, it does the following:',
      ],
    )}\n\n${routes.map((route) => `- ${route}`).join('\n')}`,
    words.say(
      random.pick([
        'Every response has the content type text/plain and a correct Content-Length. The status is 200 unless stated otherwise. An unknown path or name gets status 404 and the text `not found`; a method that a path does not support gets 405 and `method not allowed`; both texts end with a newline. Names in paths and values in queries may be percent-encoded (with upper- or lowercase hex digits), and in queries + stands for a space. Header names are case-insensitive.',
        'Unless stated otherwise, the status is 200. Paths and names that do not exist get 404 and `not found`, unsupported methods get 405 and `method not allowed`, each followed by a newline. The body is plain text, and Content-Length gives its size in bytes. Percent-encoded characters are decoded (hex digits in upper or lower case), and + in a query means a space. Clients may send header names in any case.',
      ]),
      [
        'These rules hold for all routes. Responses are of content type text/plain, and their Content-Length is the length of the body in bytes. Where nothing else is said, the status is 200. If a path or name is unknown, the reply is 404 with the text `not found`; if a path does not support the method, it is 405 with `method not allowed`. Each of these two texts is followed by a newline. Requests may percent-encode the names in paths and the values in queries (hex digits in either case) and may write a space in a query as +. Upper and lower case make no difference in header names.',
        'Bodies are plain text (content type text/plain) and come with a correct Content-Length, in bytes. Use status 404 and `not found` for a path or name that does not exist, 405 and `method not allowed` for a method that the path does not support, and 200 for everything else unless stated otherwise; both of those messages end with a newline. Percent-encoding must be decoded in names in paths and in values in queries, whether its hex digits are upper- or lowercase, and a + in a query stands for a space. Header names must be recognized in any mixture of upper and lower case.',
        'Details: status 200 unless stated otherwise; 404 and `not found` plus a newline when a path or name is unknown; 405 and `method not allowed` plus a newline when a path does not support the method. All responses: content type text/plain, Content-Length correct (in bytes). Requests: percent-encoded characters (hex digits in upper or lower case) may occur in names in paths and in values in queries; in a query, + means a space; header names are matched without regard to case.',
      ],
    ),
    words.say(
      random.pick([
        `You can try it with \`${root}/${sample}\`, but leave that file as it is. The tests start the service with other files and ports, and stop it with SIGTERM.`,
        `Try it with \`${root}/${sample}\`, which must not change. It will be tested on another port and with other records. curl may not be installed here, but you can send HTTP requests from Perl or through /dev/tcp in bash.`,
      ]),
      [
        `\`${root}/${sample}\` is a file of records to experiment with; do not modify it. For the tests, the service is started on different ports with different records and ended with SIGTERM.`,
        `For your own experiments there is \`${root}/${sample}\`, which has to stay unchanged. The service will be run on other ports and with other records, and stopped by SIGTERM. If curl is missing here, Perl or /dev/tcp in bash can send requests, too.`,
        `\`${root}/${sample}\` is an example of such a FILE. Use it as you like, but do not edit it. Other records and another port will be used in the tests, and a SIGTERM will stop the service.`,
        `Want to try it out? Start it with \`${root}/${sample}\` (the contents of that file must remain the same). My own checks use other files and ports and stop the service with SIGTERM.`,
        `Sample records: \`${root}/${sample}\` (keep that file as it is). Tests: other records, other ports, SIGTERM at the end. Without curl, send HTTP requests from Perl or through /dev/tcp in bash.`,
      ],
    ),
  ]
}

/** Operations on web services. */
export const httpOperations: readonly Operation[] = [repairHttp]
