import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation, type Tree } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

type Change =
  | readonly ['begin' | 'commit' | 'abort', string]
  | readonly ['put', string, string, string]
  | readonly ['del', string, string]

/** The sum of all bytes modulo 65536, as four hexadecimal digits. */
function checksum(text: string): string {
  const sum = [...Buffer.from(text)].reduce((total, byte) => (total + byte) % 65_536, 0)
  return sum.toString(16).padStart(4, '0')
}

/** Overlapping transactions, some of which never end. */
function drawChanges({ random, level }: Draw): readonly Change[] {
  const keys = random.few(nouns, byLevel(level, 8, 12, 18))
  const open = new Map<string, number>()
  const changes: Change[] = []
  let last = random.int(10, 400)
  const total = byLevel(level, 40, 90, 200)
  while (changes.length < total) {
    if (open.size === 0 || (open.size < byLevel(level, 1, 3, 4) && random.chance(0.25))) {
      last += random.int(1, 3)
      open.set(`t${last}`, random.int(2, 7))
      changes.push(['begin', `t${last}`])
      continue
    }
    const [id, left] = random.pick([...open])
    open.set(id, left - 1)
    if (left > 0) {
      const key = random.pick(keys)
      if (random.chance(0.75)) changes.push(['put', id, key, random.few(plainWords, random.int(1, 3)).join(' ')])
      else changes.push(['del', id, key])
      continue
    }
    open.delete(id)
    changes.push([random.chance(0.75) ? 'commit' : 'abort', id])
  }
  return changes
}

/** What is stored after all commits; a naive reader applies every change as it comes. */
function settle(changes: readonly Change[], naive = false): string[] {
  const stored = new Map<string, string>()
  const pending = new Map<string, Change[]>()
  const apply = (change: Change) => {
    if (change[0] === 'put') stored.set(change[2], change[3])
    if (change[0] === 'del') stored.delete(change[2])
  }
  for (const change of changes) {
    const [what, id] = change
    if (naive) apply(change)
    else if (what === 'commit') for (const one of pending.get(id) ?? []) apply(one)
    else if (what === 'put' || what === 'del') pending.set(id, [...(pending.get(id) ?? []), change])
  }
  return [...stored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => `${key}=${value}`)
}

const recoverStore: Operation = {
  name: 'recover-store',
  domains: ['stores'],
  make: (draw) => {
    const { random, level } = draw
    const changes = drawChanges(draw)
    const parts = byLevel(level, 1, 3, 5)
    const size = Math.ceil(changes.length / parts)
    const folder = random.pick(['segments', 'wal', 'db/log', 'data'])
    const damaged =
      level === 'easy'
        ? []
        : random.few(
            Array.from({ length: parts }, (_, at) => at),
            byLevel(level, 0, 1, 2),
          )
    const before: Record<string, Tree[string]> = {}
    const kept: Change[] = []
    for (let at = 0; at < parts; at++) {
      const here = changes.slice(at * size, (at + 1) * size)
      const from = damaged.includes(at) ? random.int(2, here.length - 3) : here.length
      kept.push(...here.slice(0, from))
      const text = here.map((change, nth) => {
        const line = change.join(' ')
        return `${checksum(nth === from ? `${line}.` : line)} ${line}`
      })
      // Numbers without leading zeros, so that sorting by name does not give the order of segments.
      before[`${folder}/${at + 8}.seg`] = file(lines(text))
    }
    const text = settle(kept)
    const others = [settle(kept, true), settle(changes)].slice(0, damaged.length > 0 ? 2 : 1)
    if (text.length < 4 || others.some((other) => other.join() === text.join())) return null
    const out = random.pick(['snapshot.txt', 'recovered.txt', 'out/store.txt', 'current.txt'])
    return reportWork(draw, {
      domain: 'stores',
      operation: 'recover-store',
      shape: parts === 1 ? 'one-segment' : 'segments',
      faults: ['open-transactions', ...damaged.map(() => 'torn-segment')],
      ask: tellStore(draw, { folder, out, parts }),
      before,
      out,
      text: lines(text),
      solve: recoverScript(folder),
    })
  },
}

function recoverScript(folder: string): string {
  return `perl - ${folder} <<'END_OF_PERL'
use strict;
my ($folder) = @ARGV;
my (%stored, %pending);
for my $path (sort { ($a =~ /(\\d+)\\.seg$/)[0] <=> ($b =~ /(\\d+)\\.seg$/)[0] } glob "$folder/*.seg") {
  open my $in, '<', $path or die;
  while (my $line = <$in>) {
    chomp $line;
    my ($sum, $record) = split / /, $line, 2;
    last if $sum ne sprintf '%04x', unpack '%16C*', $record;
    my ($what, $id, $key, $value) = split / /, $record, 4;
    if ($what eq 'put' || $what eq 'del') { push @{$pending{$id}}, [$what, $key, $value] }
    elsif ($what eq 'abort') { delete $pending{$id} }
    elsif ($what eq 'commit') {
      for my $change (@{delete $pending{$id} // []}) {
        if ($change->[0] eq 'put') { $stored{$change->[1]} = $change->[2] } else { delete $stored{$change->[1]} }
      }
    }
  }
}
print "$_=$stored{$_}\\n" for sort keys %stored;
END_OF_PERL`
}

interface Told {
  readonly folder: string
  readonly out: string
  readonly parts: number
}

function tellStore({ random, words, root }: Draw, { folder, out, parts }: Told): string[] {
  const where =
    parts === 1
      ? `the log \`${root}/${folder}/8.seg\``
      : words.say(
          `the log segments \`${root}/${folder}/8.seg\` to \`${parts + 7}.seg\`, which must be read in numeric order`,
          [
            `the numbered log segments \`${root}/${folder}/8.seg\` to \`${parts + 7}.seg\`, to be read in the order of their numbers`,
            `the segments \`${root}/${folder}/8.seg\` to \`${parts + 7}.seg\` of a log, which follow one another in numeric order`,
            `a log in segments, \`${root}/${folder}/8.seg\` to \`${parts + 7}.seg\`, which go in ascending order of their numbers`,
          ],
        )
  return [
    words.say(
      random.pick([
        `A key-value store has lost its main file; all that is left is ${where}. Work out what the store contained and write it to \`${root}/${out}\` as lines of the form \`KEY=VALUE\`, sorted by key in byte order.`,
        `Recover a small database from ${where}. Write its final keys and values to \`${root}/${out}\`: one line \`KEY=VALUE\` per key, sorted by key in byte order.`,
        `We need the final contents of a store whose changes are recorded in ${where}. Write them to \`${root}/${out}\`, one line \`KEY=VALUE\` per key, sorted by key in byte order.`,
      ]),
      [
        `What did this key-value store contain in the end? All that is left of it is ${where}. Put the answer into \`${root}/${out}\`, one line \`KEY=VALUE\` for each key, sorted by key in byte order.`,
        `Rebuild the contents of a key-value store from ${where}. They belong in \`${root}/${out}\`, as a line \`KEY=VALUE\` for every key that is stored in the end, with the keys in byte order.`,
        `Please create \`${root}/${out}\` with the final contents of a small database: a line \`KEY=VALUE\` per key, in byte order of the keys. Your only source is ${where}.`,
        `Output: \`${root}/${out}\`, the keys and values that a store held in the end, as lines \`KEY=VALUE\`, sorted by key in byte order. Input: ${where}.`,
      ],
    ),
    words.say(
      random.pick([
        'Each line of the log is a checksum, a space and a record. Records are `begin ID`, `put ID KEY VALUE` (the value may contain spaces), `del ID KEY`, `commit ID` and `abort ID`, where ID names a transaction. Transactions may overlap. The changes of a transaction take effect all at once, in the order in which they were written, when it is committed; a transaction that is aborted or never ends has no effect.',
        'Each line consists of a checksum and, after a space, one of these records: `begin ID`, `put ID KEY VALUE`, `del ID KEY`, `commit ID`, `abort ID`. Several transactions can be open at the same time. Nothing that a transaction does takes effect before its `commit`; at that point all of its changes take effect, in the order in which they were written. Without a `commit`, none of them do. Values may contain spaces.',
      ]),
      [
        'A line of the log is made up of a checksum, one space and a record. There are five kinds of records: `begin ID`, `put ID KEY VALUE`, `del ID KEY`, `commit ID` and `abort ID`. ID identifies a transaction, and VALUE may contain spaces. More than one transaction can be open at a time. When a transaction is committed, all its changes are made at once, in the order in which they were written; the changes of a transaction that is aborted, or that never ends, are not made.',
        'The lines have the form of a checksum, then a space, then a record, which is `begin ID`, `put ID KEY VALUE` (where VALUE is the rest of the line and may have spaces in it), `del ID KEY`, `commit ID` or `abort ID`. The ID says which transaction the record belongs to, as transactions may overlap. What a transaction puts and deletes takes effect only with its `commit`, at that point of the log, all at once and in the order in which it was written. If a transaction is aborted, or has no end at all, it changes nothing.',
        'Format: each line is a checksum, a space and a record. Records: `begin ID`, `put ID KEY VALUE` (VALUE may contain spaces), `del ID KEY`, `commit ID`, `abort ID`. ID stands for a transaction, several of which may be in progress at once. Meaning: `put` and `del` do nothing until the `commit` of their transaction, which then applies all of them in the order in which they were written; without a `commit` (in aborted or unfinished transactions), none of them has any effect.',
      ],
    ),
    words.say(
      random.pick([
        `The checksum is the sum of the bytes of the record modulo 65536, as four lowercase hexadecimal digits. Where it is wrong, the write was interrupted: ignore this line and everything after it in the same segment, but not the next segment.${lost(parts, 'What later segments say about a transaction counts even if earlier records of it were ignored, its `begin` included.')}`,
        `The checksum is four lowercase hexadecimal digits: the sum of all bytes of the record, modulo 65536. A line with a wrong checksum is invalid, and so is the rest of its segment; the next segment is read from its beginning.${lost(parts, 'Records in valid parts of the log count even if the `begin` of their transaction, or some of its changes, were in an invalid part.')}`,
      ]),
      [
        `A checksum is written as four lowercase hexadecimal digits and equals the sum of all bytes of the record modulo 65536. Where it is not correct, the write was interrupted: skip that line and the rest of its segment, then go on with the beginning of the next segment.${lost(parts, 'Valid records in later segments count even if earlier records of the same transaction, its `begin` included, were skipped.')}`,
        `To compute the checksum of a record, add up its bytes, take the remainder of the division by 65536, and write it as four lowercase hexadecimal digits. If a line in a segment has a checksum that does not match, ignore it and everything that follows it in that segment; this does not affect other segments.${lost(parts, 'Even if this takes away the `begin` or other records of a transaction, what valid lines in later segments say about it counts.')}`,
        `Checksum: sum of the bytes of the record modulo 65536, in four lowercase hexadecimal digits. A mismatch means an interrupted write, so that line and all lines after it in the same segment are to be left out, while the next segment is read from its start as usual.${lost(parts, 'If a transaction lost its `begin` or other records in this way, its records in valid parts of the log count nonetheless.')}`,
      ],
    ),
  ]
}

/** Only with several segments can a transaction continue after part of it was lost. */
function lost(parts: number, rule: string): string {
  return parts === 1 ? '' : ` ${rule}`
}

/** Operations on file-based databases. */
export const storeOperations: readonly Operation[] = [recoverStore]
