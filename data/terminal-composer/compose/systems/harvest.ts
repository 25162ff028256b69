import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Service {
  readonly seed: number
  readonly records: number
  readonly page: number
  /** Every request whose number is divisible by this gets a 503. */
  readonly busy: number
  readonly groups: readonly string[]
}

/** The service's records, from the same generator as in its program. */
function recordsOf({ seed, records, groups }: Service): { readonly group: string; readonly amount: number }[] {
  let at = BigInt(seed)
  const next = (below: number) => {
    at = (at * 1_103_515_245n + 12_345n) % 2_147_483_648n
    return Number((at / 65_536n) % BigInt(below))
  }
  return Array.from({ length: records }, () => ({ group: groups[next(groups.length)] ?? '', amount: next(900) - 100 }))
}

const program = ({ seed, records, page, busy, groups }: Service, level: Draw['level']) => `#!/usr/bin/perl
# A service that gives out its records page by page, to those who have a token.
use strict;
use warnings;
use IO::Socket::INET;

my $at = ${seed};
sub draw { $at = ($at * 1103515245 + 12345) % 2147483648; return int($at / 65536) % $_[0] }
my @groups = qw(${groups.join(' ')});
my @records = map { [$groups[draw(${groups.length})], draw(900) - 100] } 1 .. ${records};
my $token = sprintf '%x', $$ * 7919;
my $count = 0;

$SIG{TERM} = sub { exit 0 };
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 16, ReuseAddr => 1)
  or die "cannot listen on $ARGV[0]\\n";
while (my $client = $server->accept) {
  my $head = <$client>;
  next unless defined $head && $head =~ m{^GET (\\S+) HTTP/1};
  my $target = $1;
  my $given = '';
  while (defined(my $line = <$client>)) {
    last if $line =~ /^\\r?\\n$/;
    $given = $1 if $line =~ /^x-token:\\s*(\\S+)/i;
  }
  my ($status, $text) = answer($target, $given);
  print $client "HTTP/1.1 $status\\r\\nContent-Length: " . length($text) . "\\r\\nConnection: close\\r\\n\\r\\n$text";
  close $client;
}

sub answer {
  my ($target, $given) = @_;
  $count++;
  return ('503 Service Unavailable', "try again\\n") if ${level === 'easy' ? '0' : `$count % ${busy} == 0`};
  return ('200 OK', "$token\\n") if $target eq '/token';
  return ('401 Unauthorized', "no token\\n") if $given ne $token;
  return ('404 Not Found', "not found\\n") unless $target =~ m{^/records\\?page=(\\d+)$};
  my $first = ($1 - 1) * ${page};
  my @some = grep { defined } @records[$first .. $first + ${page - 1}];
  return ('200 OK', join '', map { "$_->[0] $_->[1]\\n" } @some);
}
`

const harvest: Operation = {
  name: 'harvest-http-service',
  domains: ['http'],
  make: (draw) => {
    const { random, level } = draw
    const service: Service = {
      seed: random.int(1, 2_000_000_000),
      records: random.int(byLevel(level, 30, 80, 200), byLevel(level, 60, 160, 400)),
      page: random.pick([10, 15, 20]),
      busy: random.int(3, 5),
      groups: random.few(
        ['north', 'south', 'east', 'west', 'center', 'coast', 'hills', 'lake'],
        byLevel(level, 3, 4, 6),
      ),
    }
    const sums = new Map<string, { count: number; total: number }>()
    for (const { group, amount } of recordsOf(service)) {
      const { count, total } = sums.get(group) ?? { count: 0, total: 0 }
      sums.set(group, { count: count + 1, total: total + amount })
    }
    const text = [...sums]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, { count, total }]) => `${group} ${count} ${total}`)
    if (text.length < service.groups.length) return null
    const [path, out] = [
      random.pick(['api.pl', 'service/records.pl', 'serve.pl']),
      random.pick(['totals.txt', 'sums.txt', 'out/report.txt']),
    ]
    const port = random.int(20_000, 29_999)
    return reportWork(draw, {
      domain: 'http',
      operation: 'harvest-http-service',
      shape: 'paged-api',
      faults: level === 'easy' ? ['token'] : ['token', 'busy-service'],
      ask: tellHarvest(draw, { path, out, port }),
      before: { [path]: file(program(service, level), '755') },
      out,
      text: lines(text),
      solve: harvestScript(path, port),
    })
  },
}

function harvestScript(path: string, port: number): string {
  return `perl ${path} ${port} &
server=$!
perl - ${port} <<'END_OF_PERL'
use strict;
use IO::Socket::INET;
my ($port) = @ARGV;
sub get {
  my ($target, $token) = @_;
  for (1 .. 200) {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
    if (!$socket) { select undef, undef, undef, 0.05; next }
    print $socket "GET $target HTTP/1.1\\r\\nHost: localhost\\r\\nX-Token: $token\\r\\n\\r\\n";
    my ($head, $body) = split /\\r\\n\\r\\n/, do { local $/; <$socket> }, 2;
    return $body if $head =~ /^HTTP\\S+ 200/;
  }
  die 'no answer';
}
chomp(my $token = get('/token', '-'));
my (%count, %total);
for (my $page = 1; ; $page++) {
  my @rows = split /\\n/, get("/records?page=$page", $token) or last;
  for (@rows) { my ($group, $amount) = split; $count{$group}++; $total{$group} += $amount }
}
print "$_ $count{$_} $total{$_}\\n" for sort keys %count;
END_OF_PERL
kill "$server"
wait "$server"`
}

interface Told {
  readonly path: string
  readonly out: string
  readonly port: number
}

function tellHarvest({ random, words, root, level }: Draw, { path, out, port }: Told): string[] {
  const busy =
    level === 'easy'
      ? ''
      : words.say(
          random.pick([
            ' The service is often busy and then responds with status 503: send the request again.',
            ' Status 503 means that the service is busy and that the same request has to be sent again.',
          ]),
          [
            ' Whenever you get status 503, the service is just busy: repeat the request.',
            ' Expect status 503 now and then; it only means that the service is busy and that the same request must be sent again.',
            ' If the status is 503, the service is busy; send that request again, as often as it takes.',
            ' When it is busy, which is often the case, the service answers with status 503, and the request has to be repeated.',
          ],
        )
  return [
    words.say(
      random.pick([
        `\`perl ${root}/${path} ${port}\` starts a web service on 127.0.0.1, port ${port} (any other free port will do as well). Start it, fetch all of its records and add them up.`,
        `Add up the records of a web service. The service is \`${root}/${path}\`: \`perl ${root}/${path} ${port}\` runs it on port ${port} of 127.0.0.1, and another free port is fine too.`,
        `We need totals over the records of the web service \`${root}/${path}\`. It is not running; start it with \`perl ${root}/${path} ${port}\` (or another port), and it will listen on 127.0.0.1.`,
      ]),
      [
        `A web service, \`${root}/${path}\`, gives out records, all of which are to be fetched and added up. It is not running yet: start it with \`perl ${root}/${path} ${port}\`. It then listens on 127.0.0.1, port ${port}; any other free port is possible, too.`,
        `Please collect all the records of a web service and add them up. You start that service yourself, with \`perl ${root}/${path} ${port}\`, on 127.0.0.1 and port ${port}, or on another free port if you like.`,
        `What do the records of our web service add up to? Its program is \`${root}/${path}\`, and \`perl ${root}/${path} ${port}\` makes it listen on 127.0.0.1, port ${port}. You may use any other free port instead. Run it and fetch all of its records.`,
        `Wanted: totals over all records of a web service that is to be started first. To run it on 127.0.0.1, port ${port}: \`perl ${root}/${path} ${port}\`. Another free port will also do.`,
      ],
    ),
    words.say(
      random.pick([
        `\`GET /token\` returns a token, which is different each time the service starts. With that token in the header \`X-Token\`, \`GET /records?page=1\` returns the first records, as lines of the form \`GROUP AMOUNT\`, \`page=2\` returns the next ones and so on, until a page is empty.${busy}`,
        `First get a token (\`GET /token\`; it is valid as long as the service runs) and send it in the header \`X-Token\` with every other request. \`GET /records?page=N\`, starting at page 1, returns lines of the form \`GROUP AMOUNT\`; the first empty page comes right after the last one with records.${busy}`,
      ]),
      [
        `Each time it starts, the service makes up a new token, and \`GET /token\` returns it. All other requests need it in the header \`X-Token\`. The records come in pages: \`GET /records?page=1\` for the first, \`page=2\` for the next and so on, with lines of the form \`GROUP AMOUNT\`. The first empty page means that there are no more records.${busy}`,
        `How it works: ask for a token with \`GET /token\` (after a restart you need a new one) and send it in the header \`X-Token\` whenever you request records. \`GET /records?page=N\` returns the records on page N, as lines of the form \`GROUP AMOUNT\`. Begin with page 1 and stop at the first page that is empty: there are no records after it.${busy}`,
        `To read the records, send \`GET /records?page=1\`, then the same with \`page=2\` and so forth; an empty page means that you have them all. Every line of a page is a record, in the form \`GROUP AMOUNT\`. These requests must have a header \`X-Token\` with a token that you get beforehand with \`GET /token\`; it is valid until the service ends.${busy}`,
        `The protocol: (1) \`GET /token\` returns a token that is good for as long as the service runs. (2) \`GET /records?page=N\` with this token in the header \`X-Token\` returns page N of the records, as lines of the form \`GROUP AMOUNT\`. Pages are numbered from 1, and the first empty one comes directly after the last one with records.${busy}`,
      ],
    ),
    words.say(
      random.pick([
        `Write one line \`GROUP COUNT SUM\` per group to \`${root}/${out}\`: the number of records in the group and the sum of their amounts, some of which are negative. Sort the lines by group name.`,
        `The result, \`${root}/${out}\`, has one line per group, sorted by name: \`GROUP COUNT SUM\`, with the number of records and the sum of the amounts. Amounts can be negative.`,
      ]),
      [
        `In \`${root}/${out}\`, I need a line \`GROUP COUNT SUM\` for each group: COUNT is how many records it has, SUM is what their amounts add up to (some of them are negative). The lines are sorted by group name.`,
        `The output is \`${root}/${out}\`, sorted by group name. For each group, it has one line \`GROUP COUNT SUM\`, made up of the name of the group, the number of its records and the sum of their amounts. Note that amounts may be below zero.`,
        `Save the totals to \`${root}/${out}\`, one line \`GROUP COUNT SUM\` for each group: the group, how many records belong to it, and the sum of their amounts (there are negative amounts, too). Sort the lines by the names of the groups.`,
        `Per group, count the records and add up the amounts, some of which are negative. Put a line \`GROUP COUNT SUM\` for each group into \`${root}/${out}\`, and sort these lines by group name.`,
      ],
    ),
    words.say(
      random.pick([
        'Do not change the program itself.',
        `Do not change \`${root}/${path}\`. If curl is not installed, you can use Perl or /dev/tcp in bash.`,
      ]),
      [
        'The program of the service must stay as it is.',
        `\`${root}/${path}\` must not be modified. Where there is no curl, Perl or the /dev/tcp of bash can send the requests.`,
        `Leave \`${root}/${path}\` unchanged; if curl is missing here, use Perl or /dev/tcp in bash.`,
        `Make no changes to \`${root}/${path}\`, the program of the service.`,
        'Use the service without editing its program.',
      ],
    ),
  ]
}

/** Operations that query a web service. */
export const harvestOperations: readonly Operation[] = [harvest]
