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

function tellReplay({ random, words, root }: Draw, { path, out, rules, end }: Told): string[] {
  const { timeout, most } = rules
  return [
    words.say(
      random.pick([
        `A message queue crashed, and only its journal \`${root}/${path}\` is left: lines \`TIME EVENT ID\`, in order of time, TIME in seconds. What state was each message in at time ${end}? Write a line \`ID STATE ATTEMPTS\` for every message to \`${root}/${out}\`, sorted by ID in byte order.`,
        `Reconstruct a queue from the events in \`${root}/${path}\`. Each line has a time in seconds, an event and the ID of a message, in order of time. Write the state of every message as of second ${end} to \`${root}/${out}\`: one line \`ID STATE ATTEMPTS\` per message, sorted by ID in byte order.`,
        `\`${root}/${path}\` records what happened in a queue, one event per line: \`TIME EVENT ID\` (TIME in seconds, ascending). Replay it up to time ${end} and report each message in \`${root}/${out}\` as \`ID STATE ATTEMPTS\`. Sort the lines by ID in byte order.`,
      ]),
      [
        `The file \`${root}/${path}\` is the journal of a message queue: each line is \`TIME EVENT ID\`, with TIME in seconds, and the lines are in order of time. Determine the state that every message had at time ${end} and save it to \`${root}/${out}\`, as one line \`ID STATE ATTEMPTS\` per message. The lines must be sorted by ID in byte order.`,
        `In \`${root}/${out}\`, list every message of a queue as it was at second ${end}: \`ID STATE ATTEMPTS\`, one per line, with the IDs in byte order. All you have to work from is \`${root}/${path}\`, the events of the queue in the order in which they happened, one per line in the form \`TIME EVENT ID\` (TIME is in seconds).`,
        `Our message broker is gone, but its event log survived as \`${root}/${path}\`. A line of it, \`TIME EVENT ID\`, gives the second, the event and the message; lines are sorted by time. Please find out how each message stood at time ${end}. The answer goes to \`${root}/${out}\`: per message a line \`ID STATE ATTEMPTS\`, sorted by ID in byte order.`,
        `Input: \`${root}/${path}\`, the events of a queue in ascending order of time, one \`TIME EVENT ID\` per line (TIME in seconds). Output: \`${root}/${out}\`, one \`ID STATE ATTEMPTS\` per line for every message, in byte order of the ID, as of time ${end}.`,
      ],
    ),
    words.say(
      random.pick([
        `- \`push\` adds a message, which is then \`waiting\` with 0 attempts.
- \`take\` makes a waiting message \`taken\` and counts one attempt.
- \`ack\` makes a taken message \`done\`.
- \`nack\` ends the attempt of a taken message: it is \`waiting\` again, or \`dead\` if it has had ${most} attempts.`,
        `A message is \`waiting\` after \`push\`, with no attempts so far. A worker gets a waiting message with \`take\`: the message is then \`taken\` and has had one more attempt. \`ack\` makes a taken message \`done\`. \`nack\` means that the attempt failed: after ${most} attempts the message is \`dead\`, before that it is \`waiting\` again.`,
      ]),
      [
        `The events: \`push\` puts a new message into the queue, in state \`waiting\` with 0 attempts. \`take\` turns a waiting message into a \`taken\` one and adds 1 to its attempts. With \`ack\`, a taken message becomes \`done\`. With \`nack\`, the attempt of a taken message is over: if it has had ${most} attempts, it becomes \`dead\`, otherwise \`waiting\` again.`,
        `- \`push\`: the message enters the queue as \`waiting\`, with 0 attempts so far.
- \`take\`: a waiting message goes to a worker. It is now \`taken\`, and its number of attempts goes up by one.
- \`ack\`: a taken message is \`done\`.
- \`nack\`: the attempt at a taken message failed. After ${most} attempts it is \`dead\`; after fewer, it goes back to \`waiting\`.`,
        `This is how events change a message. After \`push\` it is \`waiting\` and has had 0 attempts. \`take\` applies to a waiting message: its state becomes \`taken\`, and its attempts go up by one. \`ack\` and \`nack\` apply to a taken message and end the attempt: \`ack\` makes it \`done\`; \`nack\` makes it \`dead\` if it has now had ${most} attempts, and \`waiting\` otherwise.`,
      ],
    ),
    words.say(
      random.pick([
        `An attempt that has gone ${timeout} seconds without an \`ack\` or \`nack\` fails at exactly that second, before any event of the same second, as if there had been a \`nack\`; this also applies to the time between the last event and ${end}. An event that does not fit the state of its message, such as an \`ack\` that comes too late, is ignored.`,
        `Workers may go silent: if ${timeout} seconds have passed since the \`take\` and there was no \`ack\` or \`nack\` before that second, the attempt counts as failed, just like after a \`nack\`. The same goes for attempts that were still open after the last event, if their time was up by ${end}. An event whose message is not in the right state for it (a late \`ack\`, a \`take\` of a taken message) is ignored.`,
      ]),
      [
        `There is a timeout of ${timeout} seconds: when that much time has passed since the \`take\` without an \`ack\` or \`nack\`, the attempt fails at that very second, ahead of any event in the same second, with the same effect as a \`nack\`. This holds up to and including time ${end}, also after the last event. Ignore any event that does not fit the state of its message, for example an \`ack\` that comes too late.`,
        `Not every attempt ends with an \`ack\` or \`nack\`. If neither has come before the second that is ${timeout} seconds after the \`take\`, the attempt fails in that second, as with a \`nack\`, and before anything else that happens in the same second. Attempts that run out between the last event and ${end} fail as well (even if their time is up exactly at ${end}). Events that do not fit the current state of their message have no effect: a late \`ack\`, say, or a \`take\` of a message that is already taken.`,
        `Open attempts expire: exactly ${timeout} seconds after its \`take\`, an attempt that has had no \`ack\` or \`nack\` counts as failed, as though a \`nack\` had come, and events of that same second are only looked at afterwards. Attempts still open after the last event expire in the same way if they reach their ${timeout} seconds at or before ${end}. Where an event does not match the state of its message (for instance a \`take\` of a taken message, or an \`ack\` after the attempt expired), ignore it.`,
      ],
    ),
  ]
}

/** Operations on message queues. */
export const queueOperations: readonly Operation[] = [replayQueue]
