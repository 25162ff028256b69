import { gzipSync } from 'node:zlib'
import { simpleWork } from '../files/simple-work.ts'
import { inBytes, someText } from '../files/some-files.ts'
import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation, type Probe, type Tree } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

interface Line {
  readonly at: number
  readonly id: string
  readonly isError: boolean
  readonly text: string
}

/** The services and how each writes a line. Only the first has a clock that is not in UTC. */
const writers: readonly (readonly [name: string, write: (line: Line) => string])[] = [
  [
    'gateway',
    ({ at, id, isError, text }) =>
      `${new Date(at + 7_200_000).toISOString().slice(0, 23)}+02:00 ${isError ? 'ERROR' : 'INFO'} req=${id} ${text}`,
  ],
  ['app', ({ at, id, isError, text }) => `${at} [${id}] ${isError ? 'ERROR' : 'INFO'} ${text}`],
  ['storage', ({ at, id, isError, text }) => `[${apacheTime(at)} +0000] ${isError ? 'ERROR' : 'INFO'} ${id}: ${text}`],
]

function apacheTime(at: number): string {
  const iso = new Date(at).toISOString()
  return `${iso.slice(8, 10)}/${months[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 23)}`
}

function drawLines({ random, level }: Draw): Record<string, Line[]> {
  const start = Date.UTC(random.int(2019, 2026), random.int(0, 11), random.int(1, 27), 20, random.int(0, 59))
  const logs: Record<string, Line[]> = { gateway: [], app: [], storage: [] }
  const ids = Array.from(
    { length: byLevel(level, 8, 20, 45) },
    () => `${random.pick(plainWords)}${random.int(100, 999)}`,
  )
  for (const id of new Set(ids)) {
    let at = start + random.int(0, 7_200_000)
    const depth = random.int(1, 3)
    const fails = random.chance(0.35) ? random.int(0, depth - 1) : -1
    for (let nth = 0; nth < depth; nth++) {
      const [name = ''] = writers[nth] ?? []
      for (let more = random.int(1, 2); more > 0; more--) {
        at += random.int(1, 900)
        logs[name]?.push({ at, id, isError: nth === fails && more === 1, text: random.few(plainWords, 3).join(' ') })
      }
    }
    if (fails > 0) logs.gateway?.push({ at: at + random.int(1, 50), id, isError: true, text: 'upstream failed' })
  }
  for (const log of Object.values(logs)) log.sort((a, b) => a.at - b.at)
  return logs
}

const traceRequests: Operation = {
  name: 'trace-requests',
  domains: ['logs'],
  make: (draw) => {
    const { random, level, root } = draw
    const logs = drawLines(draw)
    const all = Object.entries(logs).flatMap(([name, log]) => log.map((line) => ({ ...line, name })))
    const times = new Set(all.map(({ at, id }) => `${at} ${id}`))
    if (times.size < all.length) return null
    const rows = [...new Set(all.map(({ id }) => id))].map((id) => {
      const own = all.filter((line) => line.id === id).sort((a, b) => a.at - b.at)
      const bad = own.find(({ isError }) => isError)
      return { id, ms: (own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0), blame: bad?.name ?? 'ok' }
    })
    const wanted = level === 'easy' ? rows : rows.filter(({ blame }) => blame !== 'ok')
    if (wanted.length < 3) return null
    const text = wanted
      .sort((a, b) => b.ms - a.ms || inBytes(a.id, b.id))
      .map(({ id, ms, blame }) => `${id} ${ms} ${blame}`)
    const folder = random.pick(['logs', 'var/log', 'collected'])
    const out = random.pick(['requests.txt', 'traces.txt', 'out/slowest.txt'])
    const which = level === 'easy' ? 'every request' : 'every request with at least one `ERROR` line'
    const ask = [
      random.pick([
        `Requests pass through up to three services, whose logs are \`gateway.log\`, \`app.log\` and \`storage.log\` in \`${root}/${folder}\`. Each has its own format for times and request IDs; the gateway logs in UTC+02:00, and IDs consist of letters and digits. Follow the requests through all three.`,
        `In \`${root}/${folder}\` there are the logs of three services, \`gateway.log\`, \`app.log\` and \`storage.log\`. They cover the same requests, but each has its own format for times (one in UTC+02:00, one in milliseconds since 1970, one in UTC) and IDs (letters and digits). Combine them.`,
      ]),
      random.pick([
        `Write a line \`ID MILLISECONDS SERVICE\` for ${which} to \`${root}/${out}\`. MILLISECONDS is the time between the first and the last line of the request in any log, SERVICE the service with its earliest \`ERROR\` line (\`gateway\`, \`app\` or \`storage\`)${level === 'easy' ? ', or `ok` if it has none' : ''}. Put the longest request first; if times are equal, sort by ID in byte order.`,
        `\`${root}/${out}\` should have one line for ${which}: its id, the milliseconds from its first to its last log line over all three logs, and the service that logged an \`ERROR\` for it first${level === 'easy' ? ' (`ok` when no service did)' : ''}, with single spaces in between. Sort by the milliseconds, largest first, then by id in byte order.`,
      ]),
    ]
    const before = Object.fromEntries(
      writers.map(([name, write]) => [`${folder}/${name}.log`, file(lines((logs[name] ?? []).map(write)))]),
    )
    return reportWork(draw, {
      domain: 'logs',
      operation: 'trace-requests',
      shape: 'three-logs',
      faults: ['mixed-clocks'],
      ask,
      before,
      out,
      text: lines(text),
      solve: traceScript(folder, level),
    })
  },
}

function traceScript(folder: string, level: Draw['level']): string {
  return `TZ=UTC perl -MPOSIX=mktime - ${folder} <<'END_OF_PERL' | sort -k2,2nr -k1,1
use strict;
my ($folder) = @ARGV;
my %month;
@month{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 0 .. 11;
my (%first, %last, %error);
sub note {
  my ($service, $id, $at, $level) = @_;
  $first{$id} = $at if !defined $first{$id} || $at < $first{$id};
  $last{$id} = $at if !defined $last{$id} || $at > $last{$id};
  $error{$id} = [$at, $service] if $level eq 'ERROR' && (!$error{$id} || $at < $error{$id}[0]);
}
open my $in, '<', "$folder/gateway.log" or die;
while (<$in>) {
  my ($y, $m, $d, $h, $i, $s, $ms, $level, $id) = /^(\\d+)-(\\d+)-(\\d+)T(\\d+):(\\d+):(\\d+)\\.(\\d+)\\+02:00 (\\w+) req=(\\S+)/ or die;
  note('gateway', $id, (mktime($s, $i, $h, $d, $m - 1, $y - 1900) - 7200) * 1000 + $ms, $level);
}
open $in, '<', "$folder/app.log" or die;
while (<$in>) { /^(\\d+) \\[(\\S+)\\] (\\w+)/ or die; note('app', $2, $1, $3) }
open $in, '<', "$folder/storage.log" or die;
while (<$in>) {
  my ($d, $mon, $y, $h, $i, $s, $ms, $level, $id) = m{^\\[(\\d+)/(\\w+)/(\\d+):(\\d+):(\\d+):(\\d+)\\.(\\d+) \\+0000\\] (\\w+) (\\S+):} or die;
  note('storage', $id, mktime($s, $i, $h, $d, $month{$mon}, $y - 1900) * 1000 + $ms, $level);
}
for my $id (keys %first) {
  ${level === 'easy' ? '' : 'next unless $error{$id};\n  '}print "$id ", $last{$id} - $first{$id}, ' ', $error{$id} ? $error{$id}[1] : 'ok', "\\n";
}
END_OF_PERL`
}

const rotateLogs: Operation = {
  name: 'rotate-logs',
  domains: ['logs'],
  make: (draw) => {
    const { random, level } = draw
    const names = random.few(nouns, byLevel(level, 2, 4, 6)).map((name) => `${name}.log`)
    const before: Record<string, Tree[string]> = {}
    const after: Record<string, Tree[string]> = {}
    const probes: Probe[] = []
    const rules = names.map((name) => {
      const [text, limit, keep] = [someText(draw, random.int(3, 12)), random.pick([150, 200, 250]), random.int(2, 4)]
      before[name] = file(text)
      const old = Array.from({ length: random.int(1, keep) }, (_, nth) => ({ nth: nth + 1, text: someText(draw, 3) }))
      for (const { nth, text: past } of old) before[kept(name, nth)] = nth === 1 ? file(past) : file(gzipSync(past))
      if (text.length <= limit) {
        for (const path of [name, ...old.map(({ nth }) => kept(name, nth))]) after[path] = before[path] ?? file('')
        return { name, limit, keep, isDue: false }
      }
      after[name] = file('')
      after[kept(name, 1)] = file(text)
      for (const { nth, text: past } of old.filter((one) => one.nth < keep)) {
        const path = kept(name, nth + 1)
        after[path] = { kind: 'some' }
        probes.push({ command: `gzip -dc < ${path}`, stdout: past })
      }
      return { name, limit, keep, isDue: true }
    })
    const due = rules.filter(({ isDue }) => isDue).length
    if (due === 0 || due === rules.length) return null
    const conf = random.pick(['rotate.conf', 'rotation.txt', 'policy.conf'])
    const table = file(lines(rules.map(({ name, limit, keep }) => `${name} ${limit} ${keep}`)))
    return simpleWork(draw, {
      domain: 'logs',
      operation: 'rotate-logs',
      shape: 'rotation',
      faults: ['not-due'],
      ask: tellRotation(draw, conf),
      before: { ...before, [conf]: table },
      after: { ...after, [conf]: table },
      probes,
      solve: `while read -r name limit keep; do
  [ "$(wc -c < "$name")" -gt "$limit" ] || continue
  rm -f "$name.$keep" "$name.$keep.gz"
  for ((nth = keep - 1; nth >= 2; nth--)); do
    if [ -e "$name.$nth.gz" ]; then mv "$name.$nth.gz" "$name.$((nth + 1)).gz"; fi
  done
  if [ -e "$name.1" ]; then gzip "$name.1"; mv "$name.1.gz" "$name.2.gz"; fi
  mv "$name" "$name.1"
  : > "$name"
done < ${conf}`,
    })
  },
}

const kept = (name: string, nth: number) => (nth === 1 ? `${name}.1` : `${name}.${nth}.gz`)

function tellRotation({ random, root }: Draw, conf: string): string[] {
  return [
    random.pick([
      `Rotate the logs in \`${root}\` by hand, once. \`${root}/${conf}\` says how: lines \`NAME BYTES KEEP\`, separated by spaces. A log is due if it has more than BYTES bytes; leave logs that are not due, and their old copies, as they are. KEEP is the number of old copies to keep.`,
      `The log rotation of \`${root}\` did not run tonight; do its work. Each line of \`${root}/${conf}\` has the name of a log, a size in bytes and the number of old copies to keep. Only logs larger than that size are rotated. Leave the others alone, including their old copies.`,
    ]),
    random.pick([
      'For a log that is due, `NAME` becomes `NAME.1` and a new, empty `NAME` takes its place. The old `NAME.1` is compressed with gzip and becomes `NAME.2.gz`, `NAME.2.gz` becomes `NAME.3.gz`, and so on. A copy whose number would be greater than the number of copies to keep is deleted.',
      'Rotating a log works like this: every old copy moves up by one number, `NAME.1` becomes `NAME.2.gz` (now compressed with gzip), `NAME.2.gz` becomes `NAME.3.gz` and so on; copies whose number would exceed the number to keep are deleted; `NAME` itself becomes `NAME.1`, uncompressed; and an empty `NAME` is created.',
    ]),
  ]
}

/** Operations on the logs of services. */
export const logOperations: readonly Operation[] = [traceRequests, rotateLogs]
