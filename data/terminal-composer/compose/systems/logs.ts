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
    const { random, words, level, root } = draw
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
      words.say(
        random.pick([
          `Requests pass through up to three services, whose logs are \`gateway.log\`, \`app.log\` and \`storage.log\` in \`${root}/${folder}\`. Each has its own format for times and request IDs; the gateway logs in UTC+02:00, and IDs consist of letters and digits. Follow the requests through all three.`,
          `In \`${root}/${folder}\` there are the logs of three services, \`gateway.log\`, \`app.log\` and \`storage.log\`. They cover the same requests, but each has its own format for times (one in UTC+02:00, one in milliseconds since 1970, one in UTC) and IDs (letters and digits). Combine them.`,
        ]),
        [
          `The folder \`${root}/${folder}\` holds three logs, \`gateway.log\`, \`app.log\` and \`storage.log\`, one for each service that a request may pass through. No two of them write times and request IDs in the same way: the gateway uses UTC+02:00, another log has milliseconds since 1970, and the third is in UTC. An ID is made up of letters and digits. Match the lines of each request across all three.`,
          `Up to three services handle each of our requests, and all of them keep a log in \`${root}/${folder}\`: \`gateway.log\` (times in UTC+02:00), \`app.log\` (milliseconds since 1970) and \`storage.log\` (times in UTC). Each also marks the ID of the request in a way of its own; IDs consist of letters and digits. Piece together what happened to each request.`,
          `Take the logs \`gateway.log\`, \`app.log\` and \`storage.log\` in \`${root}/${folder}\` and trace each request through them; it shows up in one, two or all three. Beware of the differences in format: times are in UTC+02:00 in the log of the gateway, in UTC or in milliseconds since 1970 in the others, and each log has its own notation for request IDs (which consist of letters and digits).`,
          `What happened to each request in our three services? Their logs are in \`${root}/${folder}\`: \`gateway.log\`, \`app.log\`, \`storage.log\`. A request has the same ID (letters and digits) in every log it appears in, but the formats for IDs and times differ from log to log; note that the times of the gateway are in UTC+02:00.`,
        ],
      ),
      words.say(
        random.pick([
          `Write a line \`ID MILLISECONDS SERVICE\` for ${which} to \`${root}/${out}\`. MILLISECONDS is the time between the first and the last line of the request in any log, SERVICE the service with its earliest \`ERROR\` line (\`gateway\`, \`app\` or \`storage\`)${level === 'easy' ? ', or `ok` if it has none' : ''}. Put the longest request first; if times are equal, sort by ID in byte order.`,
          `\`${root}/${out}\` should have one line for ${which}: its id, the milliseconds from its first to its last log line over all three logs, and the service that logged an \`ERROR\` for it first${level === 'easy' ? ' (`ok` when no service did)' : ''}, with single spaces in between. Sort by the milliseconds, largest first, then by id in byte order.`,
        ]),
        [
          `I need \`${root}/${out}\` with one line \`ID MILLISECONDS SERVICE\` for ${which}, the longest request on top and equal times in byte order of the ID. MILLISECONDS counts from the earliest line of the request to its latest, no matter which logs they are in; SERVICE is \`gateway\`, \`app\` or \`storage\`, whichever logged the first \`ERROR\` line of the request${level === 'easy' ? ', and `ok` if none did' : ''}.`,
          `For ${which}, report how long it took and which service failed first. The report goes to \`${root}/${out}\`, one line per request in the form \`ID MILLISECONDS SERVICE\`: the ID, the milliseconds between its first and its last line in all three logs together, and the service whose \`ERROR\` line for it is the earliest (\`gateway\`, \`app\` or \`storage\`${level === 'easy' ? '; `ok` if no service logged one' : ''}). Order the lines by MILLISECONDS, descending; where they are equal, by ID in byte order.`,
          `Output: \`${root}/${out}\`, with a line \`ID MILLISECONDS SERVICE\` for ${which} (single spaces). Sort: most milliseconds first, ties by ID in byte order. MILLISECONDS: time from the first to the last line about the request over all logs. SERVICE: \`gateway\`, \`app\` or \`storage\`, depending on which of them has the earliest \`ERROR\` line of the request${level === 'easy' ? '; if there is no such line, `ok`' : ''}.`,
        ],
      ),
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

function tellRotation({ random, words, root }: Draw, conf: string): string[] {
  return [
    words.say(
      random.pick([
        `Rotate the logs in \`${root}\` by hand, once. \`${root}/${conf}\` says how: lines \`NAME BYTES KEEP\`, separated by spaces. A log is due if it has more than BYTES bytes; leave logs that are not due, and their old copies, as they are. KEEP is the number of old copies to keep.`,
        `The log rotation of \`${root}\` did not run tonight; do its work. Each line of \`${root}/${conf}\` has the name of a log, a size in bytes and the number of old copies to keep. Only logs larger than that size are rotated. Leave the others alone, including their old copies.`,
      ]),
      [
        `Do one round of log rotation in \`${root}\`, by hand. The rules are in \`${root}/${conf}\`, one log per line, as \`NAME BYTES KEEP\` with spaces in between: the name of the log, a size in bytes, and the number of old copies to keep. Rotate a log only if it is larger than BYTES bytes; any other log stays untouched, and so do its old copies.`,
        `Some of the logs in \`${root}\` are due for rotation; please rotate each of them once. Which ones? \`${root}/${conf}\` has lines \`NAME BYTES KEEP\` (separated by spaces), and the log NAME is due when its size exceeds BYTES bytes. KEEP says how many old copies of it to keep. Logs that are not due stay as they are, together with their old copies.`,
        `Please stand in for the log rotation, which did not run: go through \`${root}/${conf}\`, where each line names a log in \`${root}\`, a size in bytes and the number of old copies to keep (\`NAME BYTES KEEP\`, with spaces between), and rotate, once, every log that has more bytes than that size. Do nothing to the other logs or to their old copies.`,
        `Job: a single log rotation in \`${root}\`. Policy file: \`${root}/${conf}\`, one log per line: name, limit in bytes and number of old copies to keep, separated by spaces (\`NAME BYTES KEEP\`). A log of more than BYTES bytes is rotated; one of at most BYTES bytes is left alone, as are its old copies.`,
      ],
    ),
    words.say(
      random.pick([
        'For a log that is due, `NAME` becomes `NAME.1` and a new, empty `NAME` takes its place. The old `NAME.1` is compressed with gzip and becomes `NAME.2.gz`, `NAME.2.gz` becomes `NAME.3.gz`, and so on. A copy whose number would be greater than the number of copies to keep is deleted.',
        'Rotating a log works like this: every old copy moves up by one number, `NAME.1` becomes `NAME.2.gz` (now compressed with gzip), `NAME.2.gz` becomes `NAME.3.gz` and so on; copies whose number would exceed the number to keep are deleted; `NAME` itself becomes `NAME.1`, uncompressed; and an empty `NAME` is created.',
      ]),
      [
        'To rotate `NAME`, shift its old copies up by one: `NAME.2.gz` is renamed to `NAME.3.gz`, likewise for higher numbers, and `NAME.1` is compressed with gzip and becomes `NAME.2.gz`. Then rename `NAME` to `NAME.1`, without compressing it, and create an empty `NAME`. An old copy whose new number would be greater than the number of copies to keep is deleted instead.',
        'After the rotation of a log, `NAME` is empty, `NAME.1` has the content that `NAME` had (not compressed), `NAME.2.gz` is the former `NAME.1`, now compressed with gzip, `NAME.3.gz` is the former `NAME.2.gz`, and so forth. There is no copy with a number greater than the number of copies to keep: one that would get such a number is deleted.',
        'Rotation moves everything on by one place: `NAME` turns into `NAME.1`, which stays uncompressed; the previous `NAME.1` is gzipped and turns into `NAME.2.gz`; `NAME.2.gz` turns into `NAME.3.gz`, and so on. Where this would lead to a number greater than the number of copies to keep, delete the copy. A new, empty `NAME` is put in place.',
      ],
    ),
  ]
}

/** Operations on the logs of services. */
export const logOperations: readonly Operation[] = [traceRequests, rotateLogs]
