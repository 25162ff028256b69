import type { Draws } from 'ot-agent'
import { plainWords } from '../words.ts'
import type { Bug } from './repair.ts'

/** A small web service, its description in the instruction, and how it answers. */
export interface HttpService {
  readonly name: string
  /** Routes, as an instruction lists them. */
  readonly routes: (things: string) => readonly string[]
  /** The subroutine `answer` in Perl. */
  readonly code: (things: string) => string
  readonly bugs: readonly Bug[]
  /** Its initial records. */
  readonly data: (random: Draws) => Map<string, string>
  /** Requests in order, as method, target and body, with the required reply to each. */
  readonly talk: (random: Draws, data: Map<string, string>, things: string) => readonly Exchange[]
}

export interface Exchange {
  readonly request: readonly [method: string, target: string, body: string]
  readonly status: number
  readonly body: string
}

const percent = (text: string) => text.replaceAll(' ', '%20').replaceAll('-', '%2d')
const compound = (random: Draws) => random.few(plainWords, 2).join('-')
const exchange = (request: Exchange['request'], status: number, body: string): Exchange => ({ request, status, body })
const inOrder = (data: Map<string, string>) => [...data].sort(([a], [b]) => (a < b ? -1 : 1))

const lookup: HttpService = {
  name: 'lookup',
  routes: (things) => [
    `\`GET /${things}/NAME\`: the value of NAME, followed by a newline`,
    `\`GET /${things}?text=T\`: one line \`NAME=VALUE\` for each record whose value contains T, sorted by name; an empty body if there is none`,
    `\`GET /count\`: the number of records, followed by a newline`,
  ],
  code: (things) => `sub answer {
  my ($method, $path, $arg, $body) = @_;
  if ($path eq '/${things}') {
    return (405, "method not allowed\\n") if $method ne 'GET';
    my @names = grep { index($data{$_}, $arg->{text} // '') >= 0 } sort keys %data;
    return (200, join '', map { "$_=$data{$_}\\n" } @names);
  }
  if ($path =~ m{^/${things}/([^/]+)$} && exists $data{$1}) {
    return (405, "method not allowed\\n") if $method ne 'GET';
    return (200, "$data{$1}\\n");
  }
  return (200, scalar(keys %data) . "\\n") if $path eq '/count';
  return (404, "not found\\n");
}
`,
  bugs: [
    ['sort keys %data', 'keys %data'],
    ['>= 0 } sort', '== 0 } sort'],
    ['"$_=$data{$_}\\n"', '"$_\\n"'],
    ['&& exists $data{$1}', ''],
    ['scalar(keys %data)', '(scalar(keys %data) - 1)'],
    ["if ($path eq '/", "if ($method eq 'GET' && $path eq '/"],
  ],
  data: (random) =>
    new Map(Array.from({ length: 14 }, () => [compound(random), random.few(plainWords, random.int(2, 4)).join(' ')])),
  talk: (random, data, things) => {
    const [name = '', value = ''] = random.pick([...data])
    const [first = '', second = ''] = value.split(' ')
    const vowel = random.pick(['e', 'a', 'o'])
    const holds = (text: string) =>
      inOrder(data)
        .filter(([, one]) => one.includes(text))
        .map(([key, one]) => `${key}=${one}\n`)
        .join('')
    return [
      exchange(['GET', `/${things}/${percent(name)}`, ''], 200, `${value}\n`),
      exchange(['GET', `/${things}?text=${first}+${second}`, ''], 200, holds(`${first} ${second}`)),
      exchange(['GET', `/${things}?text=${vowel}`, ''], 200, holds(vowel)),
      exchange(['GET', `/${things}?text=${second}`, ''], 200, holds(second)),
      exchange(['GET', `/${things}/no-such-name`, ''], 404, 'not found\n'),
      exchange(['DELETE', `/${things}`, ''], 405, 'method not allowed\n'),
      exchange(['GET', '/count', ''], 200, `${data.size}\n`),
      exchange(['GET', '/other', ''], 404, 'not found\n'),
    ]
  },
}

const counters: HttpService = {
  name: 'counters',
  routes: (things) => [
    `\`POST /${things}/NAME\` with a whole number (possibly negative) as the body: adds it to the total of NAME (0 if NAME is new) and responds with the new total, followed by a newline; any other body gets status 400 and \`bad number\`, followed by a newline`,
    `\`GET /${things}/NAME\`: the total of NAME, followed by a newline`,
    `\`GET /${things}\`: one line \`NAME TOTAL\` for each name, largest total first, with equal totals sorted by name`,
  ],
  code: (things) => `sub answer {
  my ($method, $path, $arg, $body) = @_;
  if ($path eq '/${things}') {
    return (405, "method not allowed\\n") if $method ne 'GET';
    my @names = sort { $data{$b} <=> $data{$a} || $a cmp $b } keys %data;
    return (200, join '', map { "$_ $data{$_}\\n" } @names);
  }
  return (404, "not found\\n") unless $path =~ m{^/${things}/([^/]+)$};
  my $name = $1;
  if ($method eq 'POST') {
    return (400, "bad number\\n") unless $body =~ /^-?[0-9]+$/;
    $data{$name} = ($data{$name} // 0) + $body;
    return (200, "$data{$name}\\n");
  }
  return (405, "method not allowed\\n") if $method ne 'GET';
  return exists $data{$name} ? (200, "$data{$name}\\n") : (404, "not found\\n");
}
`,
  bugs: [
    ['$data{$b} <=> $data{$a}', '$data{$b} cmp $data{$a}'],
    ['|| $a cmp $b }', '|| $b cmp $a }'],
    ['/^-?[0-9]+$/', '/^[0-9]+$/'],
    ['unless $body =~ /^-?[0-9]+$/', 'unless $body =~ /[0-9]/'],
    ['($data{$name} // 0) + $body', '$body'],
    [': (404, "not found\\n")', ': (200, "0\\n")'],
    ["if ($method eq 'POST')", "if ($method ne 'GET')"],
  ],
  // Totals of one, two and three digits, to reveal a comparison as text.
  data: (random) =>
    new Map(
      [9, 104, ...Array.from({ length: 7 }, () => random.int(2, 120))].map((total) => [
        compound(random),
        String(total),
      ]),
    ),
  talk: (random, data, things) => {
    const totals = new Map([...data].map(([name, total]) => [name, Number(total)]))
    const [name = '', other = ''] = random.few([...data.keys()], 2)
    const fresh = compound(random)
    const post = (to: string, by: number) => {
      totals.set(to, (totals.get(to) ?? 0) + by)
      return exchange(['POST', `/${things}/${percent(to)}`, String(by)], 200, `${totals.get(to)}\n`)
    }
    return [
      post(name, random.int(3, 80)),
      post(fresh, totals.get(other) ?? 0),
      post(name, -random.int(200, 300)),
      exchange(['POST', `/${things}/${percent(name)}`, '12x'], 400, 'bad number\n'),
      exchange(['GET', `/${things}/${percent(name)}`, ''], 200, `${totals.get(name)}\n`),
      exchange(['GET', `/${things}/no-such-name`, ''], 404, 'not found\n'),
      exchange(['PUT', `/${things}/${percent(name)}`, '1'], 405, 'method not allowed\n'),
      exchange(['GET', `/${things}`, ''], 200, ranked(totals)),
    ]
  },
}

function ranked(totals: Map<string, number>): string {
  const all = [...totals].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return all.map(([name, total]) => `${name} ${total}\n`).join('')
}

const notes: HttpService = {
  name: 'notes',
  routes: (things) => [
    `\`PUT /${things}/NAME\`: stores the body under NAME; the status is 201 if NAME is new and 200 if it replaces an existing text; responds with the number of bytes stored, followed by a newline`,
    `\`GET /${things}/NAME\`: the text exactly as it was stored`,
    `\`DELETE /${things}/NAME\`: deletes the text and responds with \`deleted\`, followed by a newline`,
    `\`GET /${things}\`: the names, one per line, sorted`,
  ],
  code: (things) => `sub answer {
  my ($method, $path, $arg, $body) = @_;
  if ($path eq '/${things}') {
    return (405, "method not allowed\\n") if $method ne 'GET';
    return (200, join '', map { "$_\\n" } sort keys %data);
  }
  return (404, "not found\\n") unless $path =~ m{^/${things}/([^/]+)$};
  my $name = $1;
  if ($method eq 'PUT') {
    my $status = exists $data{$name} ? 200 : 201;
    $data{$name} = $body;
    return ($status, length($body) . "\\n");
  }
  return (404, "not found\\n") unless exists $data{$name};
  return (200, $data{$name}) if $method eq 'GET';
  return (405, "method not allowed\\n") if $method ne 'DELETE';
  delete $data{$name};
  return (200, "deleted\\n");
}
`,
  bugs: [
    ['? 200 : 201', '? 201 : 200'],
    ['$data{$name} = $body;', '$data{$name} .= $body;'],
    ['length($body) . "\\n"', 'scalar(keys %data) . "\\n"'],
    ['delete $data{$name};', "$data{$name} = '';"],
    ['sort keys %data', 'keys %data'],
    ['(404, "not found\\n") unless exists', '(200, "\\n") unless exists'],
  ],
  data: (random) => new Map(Array.from({ length: 7 }, () => [compound(random), random.few(plainWords, 4).join(' ')])),
  talk: (random, data, things) => {
    const [name = '', gone = '', kept = ''] = random.few([...data.keys()], 3)
    const fresh = compound(random)
    const [one, two] = [random.few(plainWords, 5).join(' '), `${random.few(plainWords, 3).join('\\n')}\\n`]
    const at = (of: string) => `/${things}/${percent(of)}`
    const left = [...[...data.keys()].filter((key) => key !== gone), fresh].sort()
    return [
      exchange(['PUT', at(fresh), two], 201, `${two.replaceAll('\\n', '\n').length}\n`),
      exchange(['PUT', at(name), one], 200, `${one.length}\n`),
      exchange(['GET', at(name), ''], 200, one),
      exchange(['GET', at(fresh), ''], 200, two.replaceAll('\\n', '\n')),
      exchange(['GET', at(kept), ''], 200, data.get(kept) ?? ''),
      exchange(['DELETE', at(gone), ''], 200, 'deleted\n'),
      exchange(['GET', at(gone), ''], 404, 'not found\n'),
      exchange(['POST', at(name), 'x'], 405, 'method not allowed\n'),
      exchange(['GET', `/${things}`, ''], 200, left.map((key) => `${key}\n`).join('')),
    ]
  },
}

/** All services. */
export const httpServices: readonly HttpService[] = [lookup, counters, notes]
