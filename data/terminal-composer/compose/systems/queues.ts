import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Event {
  readonly at: number
  readonly what: 'push' | 'take' | 'ack' | 'nack'
  readonly id: string
}

interface Rules {
  /** Seconds until a message that was taken but not acknowledged returns to the queue. */
  readonly timeout: number
  /** A message is dead after this many failed attempts. */
  readonly most: number
}

interface Message {
  state: 'waiting' | 'taken' | 'done' | 'dead'
  attempts: number
  takenAt: number
}

/** The state of each message at a point in time, with or without timeouts. */
function replay(events: readonly Event[], rules: Rules, end: number, withTimeouts = true): Map<string, Message> {
  const messages = new Map<string, Message>()
  const giveUp = (message: Message) => {
    message.state = message.attempts >= rules.most ? 'dead' : 'waiting'
  }
  const expire = (now: number) => {
    for (const message of messages.values())
      if (withTimeouts && message.state === 'taken' && now - message.takenAt >= rules.timeout) giveUp(message)
  }
  for (const { at, what, id } of events) {
    expire(at)
    const message = messages.get(id)
    if (what === 'push') messages.set(id, message ?? { state: 'waiting', attempts: 0, takenAt: 0 })
    else if (what === 'take' && message?.state === 'waiting')
      Object.assign(message, { state: 'taken', attempts: message.attempts + 1, takenAt: at })
    else if (what === 'ack' && message?.state === 'taken') message.state = 'done'
    else if (what === 'nack' && message?.state === 'taken') giveUp(message)
  }
  expire(end)
  return messages
}

function drawEvents(
  { random, level }: Draw,
  rules: Rules,
): { readonly events: readonly Event[]; readonly end: number } {
  const ids = random.few(plainWords, byLevel(level, 8, 16, 30)).map((word) => `${word}-${random.int(10, 99)}`)
  const events: Event[] = []
  for (const id of ids) {
    let at = random.int(0, 400)
    events.push({ at, what: 'push', id })
    for (let round = random.int(0, rules.most + 1); round > 0; round--) {
      at += random.int(1, 120)
      events.push({ at, what: 'take', id })
      const after = random.int(1, random.chance(0.5) ? rules.timeout - 1 : rules.timeout * 2)
      const what = random.pick(['ack', 'nack', 'nack', null] as const)
      if (what) events.push({ at: at + after, what, id })
      at += random.chance(0.8) ? Math.max(after + 1, what ? 0 : rules.timeout) : after + 1
      if (what === 'ack' && random.chance(0.8)) break
    }
  }
  // All times differ, so that the order of events is their order in time.
  const inTime = random.shuffle(events).sort((a, b) => a.at - b.at)
  let last = -1
  const spread = inTime.map((event) => {
    last = Math.max(event.at, last + 1)
    return { ...event, at: last }
  })
  return { events: spread, end: last + random.int(5, rules.timeout) }
}

const told = (messages: Map<string, Message>) =>
  [...messages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, { state, attempts }]) => `${id} ${state} ${attempts}`)

const replayQueue: Operation = {
  name: 'replay-queue',
  domains: ['queues'],
  make: (draw) => {
    const { random, level } = draw
    const rules = { timeout: random.pick([30, 45, 60, 90]), most: random.int(2, 4) }
    const { events, end } = drawEvents(draw, rules)
    const start = random.int(1_500_000_000, 1_780_000_000)
    const messages = replay(events, rules, end)
    const naive = told(replay(events, rules, end, false))
    const text = told(messages)
    if (level !== 'easy' && naive.join() === text.join()) return null
    if (new Set([...messages.values()].map(({ state }) => state)).size < byLevel(level, 2, 3, 4)) return null
    const path = random.pick(['queue.log', 'broker/events.log', `${random.pick(nouns)}.journal`])
    const out = random.pick(['state.txt', 'messages.txt', 'out/queue-state.txt'])
    return reportWork(draw, {
      domain: 'queues',
      operation: 'replay-queue',
      shape: 'event-log',
      faults: ['timeouts', 'late-events'],
      ask: tellReplay(draw, { path, out, rules, end: start + end }),
      before: { [path]: file(lines(events.map(({ at, what, id }) => `${start + at} ${what} ${id}`))) },
      out,
      text: lines(text),
      solve: `perl - ${path} ${start + end} <<'END_OF_PERL'
use strict;
my ($path, $end) = @ARGV;
my (%state, %attempts, %taken);
sub give_up { $state{$_[0]} = $attempts{$_[0]} >= ${rules.most} ? 'dead' : 'waiting' }
sub expire {
  my ($now) = @_;
  for my $id (keys %state) { give_up($id) if $state{$id} eq 'taken' && $now - $taken{$id} >= ${rules.timeout} }
}
open my $in, '<', $path or die;
while (<$in>) {
  my ($at, $what, $id) = split;
  expire($at);
  my $now = $state{$id} // '';
  if ($what eq 'push') { $state{$id} //= 'waiting'; $attempts{$id} //= 0 }
  elsif ($what eq 'take' && $now eq 'waiting') { $state{$id} = 'taken'; $attempts{$id}++; $taken{$id} = $at }
  elsif ($what eq 'ack' && $now eq 'taken') { $state{$id} = 'done' }
  elsif ($what eq 'nack' && $now eq 'taken') { give_up($id) }
}
expire($end);
print "$_ $state{$_} $attempts{$_}\\n" for sort keys %state;
END_OF_PERL`,
    })
  },
}

interface Told {
  readonly path: string
  readonly out: string
  readonly rules: Rules
  readonly end: number
}

function tellReplay({ random, root }: Draw, { path, out, rules, end }: Told): string[] {
  const { timeout, most } = rules
  return [
    random.pick([
      `A message queue crashed, and only its journal \`${root}/${path}\` is left: lines \`TIME EVENT ID\`, in order of time, TIME in seconds. What state was each message in at time ${end}? Write a line \`ID STATE ATTEMPTS\` for every message to \`${root}/${out}\`, sorted by ID in byte order.`,
      `Reconstruct a queue from the events in \`${root}/${path}\`. Each line has a time in seconds, an event and the ID of a message, in order of time. Write the state of every message as of second ${end} to \`${root}/${out}\`: one line \`ID STATE ATTEMPTS\` per message, sorted by ID in byte order.`,
      `\`${root}/${path}\` records what happened in a queue, one event per line: \`TIME EVENT ID\` (TIME in seconds, ascending). Replay it up to time ${end} and report each message in \`${root}/${out}\` as \`ID STATE ATTEMPTS\`. Sort the lines by ID in byte order.`,
    ]),
    random.pick([
      `- \`push\` adds a message, which is then \`waiting\` with 0 attempts.
- \`take\` makes a waiting message \`taken\` and counts one attempt.
- \`ack\` makes a taken message \`done\`.
- \`nack\` ends the attempt of a taken message: it is \`waiting\` again, or \`dead\` if it has had ${most} attempts.`,
      `A message is \`waiting\` after \`push\`, with no attempts so far. A worker gets a waiting message with \`take\`: the message is then \`taken\` and has had one more attempt. \`ack\` makes a taken message \`done\`. \`nack\` means that the attempt failed: after ${most} attempts the message is \`dead\`, before that it is \`waiting\` again.`,
    ]),
    random.pick([
      `An attempt that has gone ${timeout} seconds without an \`ack\` or \`nack\` fails at exactly that second, before any event of the same second, as if there had been a \`nack\`; this also applies to the time between the last event and ${end}. An event that does not fit the state of its message, such as an \`ack\` that comes too late, is ignored.`,
      `Workers may go silent: if ${timeout} seconds have passed since the \`take\` and there was no \`ack\` or \`nack\` before that second, the attempt counts as failed, just like after a \`nack\`. The same goes for attempts that were still open after the last event, if their time was up by ${end}. An event whose message is not in the right state for it (a late \`ack\`, a \`take\` of a taken message) is ignored.`,
    ]),
  ]
}

/** Operations on message queues. */
export const queueOperations: readonly Operation[] = [replayQueue]
