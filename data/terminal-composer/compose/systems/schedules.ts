import { inBytes } from '../files/some-files.ts'
import { nouns } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type CronJob, drawJob, runsOf } from './cron.ts'
import { lines, reportWork } from './report-work.ts'

const day = 86_400_000
const stamp = (time: number) => new Date(time).toISOString().slice(0, 16).replace('T', ' ')

/** A crontab, a time span, and the runs in it. */
function drawTable({ random, level }: Draw) {
  const names = random.few(nouns, byLevel(level, 3, 5, 7))
  const verbs = ['backup', 'sync', 'report', 'rotate', 'prune']
  const drawn = names.map((name) => drawJob(random, `${random.pick(verbs)}-${name}`, level !== 'easy'))
  const jobs = drawn.toSorted((a, b) => inBytes(a.name, b.name))
  const from = Date.UTC(random.int(2018, 2027), random.int(0, 11), random.int(1, 28), random.int(0, 23))
  const to = from + byLevel(level, 1, 4, 9) * day - 60_000
  return { jobs, from, to, runs: runsOf(jobs, from, to), naive: runsOf(jobs, from, to, false) }
}

function crontab({ random, level }: Draw, jobs: readonly CronJob[]): string {
  const all = random.shuffle(jobs).flatMap(({ name, expression }) => {
    const line = `${expression} ${name}`
    const spaced = level === 'easy' ? line : line.replaceAll(' ', () => random.pick([' ', '  ', '\t']))
    const off = `# ${random.int(0, 59)} ${random.int(0, 23)} * * * ${random.pick(nouns)}-old`
    return random.chance(0.25) ? [off, spaced] : [spaced]
  })
  return lines(['# minute hour day-of-month month day-of-week name', ...all])
}

/** Perl that prints the runs of a crontab. */
function runsScript(table: string, from: number, to: number): string {
  return `perl - ${table} ${from / 1000} ${to / 1000} <<'END_OF_PERL'
use strict;
my ($table, $from, $to) = @ARGV;
my @low = (0, 0, 1, 1, 0);
my @high = (59, 23, 31, 12, 7);
my %day = (sun => 0, mon => 1, tue => 2, wed => 3, thu => 4, fri => 5, sat => 6);
sub field {
  my ($text, $at) = @_;
  my %is;
  for my $part (split /,/, $text) {
    my ($range, $by) = split m{/}, $part;
    my ($first, $last) = $range eq '*' ? ($low[$at], $high[$at]) : map { $day{lc $_} // $_ } split /-/, $range;
    $last = defined $by ? $high[$at] : $first unless defined $last;
    for (my $value = $first; $value <= $last; $value += $by || 1) { $is{$at == 4 ? $value % 7 : $value} = 1 }
  }
  return \\%is;
}
my @jobs;
open my $in, '<', $table or die;
while (<$in>) {
  next if /^\\s*(#|$)/;
  my @part = split;
  push @jobs, [$part[5], [map { field($part[$_], $_) } 0 .. 4], $part[2] ne '*' && $part[4] ne '*'];
}
for (my $at = $from; $at <= $to; $at += 60) {
  my (undef, $minute, $hour, $mday, $month, $year, $wday) = gmtime $at;
  for my $job (sort { $a->[0] cmp $b->[0] } @jobs) {
    my ($name, $f, $either) = @$job;
    next unless $f->[0]{$minute} && $f->[1]{$hour} && $f->[3]{$month + 1};
    my ($d, $w) = ($f->[2]{$mday}, $f->[4]{$wday});
    next unless $either ? $d || $w : $d && $w;
    printf "%04d-%02d-%02d %02d:%02d %s\\n", $year + 1900, $month + 1, $mday, $hour, $minute, $name;
  }
}
END_OF_PERL`
}

function rules({ random, words, level }: Draw): string {
  const plain = words.say(
    random.pick([
      'Lines that begin with `#` are comments. All times are UTC.',
      'All times are UTC; ignore lines that begin with `#`.',
      'Ignore comment lines, which begin with `#`. All times are in UTC.',
    ]),
    [
      'Skip lines that start with `#`. Times are in UTC.',
      'A line that begins with `#` is a comment and does not count. UTC applies to all times.',
      'Everything is in UTC, and lines beginning with `#` are only comments.',
      'Comments are the lines that start with `#`. Treat every time as UTC.',
      'Times: UTC throughout. Lines starting with `#`: comments, to be ignored.',
    ],
  )
  if (level === 'easy') return plain
  const days = words.say(
    random.pick([
      'The fields mean what they mean to cron: weekdays may be names, 0 and 7 are both Sunday, and if neither the day of the month nor the weekday is `*`, the job runs on days that match either of them.',
      'Read the fields as cron does. In particular, Sunday is 0 or 7, weekdays may be written as names, and a line that restricts both the day of the month and the weekday runs on days that match at least one of the two.',
    ]),
    [
      'Fields have the meaning that cron gives them. Names of weekdays are allowed, Sunday can be 0 as well as 7, and when both the day of the month and the weekday are something other than `*`, it is enough for a day to match one of them.',
      'As in cron, a weekday can be a name or a number, where both 0 and 7 stand for Sunday. The other fields have the meaning they have in cron, too: in particular, a job whose day of the month and weekday are both not `*` runs on every day that fits the day of the month, the weekday, or both.',
      'Interpret the five fields the way cron does: the weekday may be a name, 0 and 7 both mean Sunday, and if both fields for days (day of the month and weekday) differ from `*`, a day counts when at least one of them matches.',
      'The rules of cron apply to the fields, these among them: weekdays are numbers (with 0 and 7 for Sunday) or names; a day of the month and a weekday of which neither is `*` are alternatives, so that the job runs on days that match the one or the other or both.',
    ],
  )
  return `${plain} ${days}`
}

const cronRuns: Operation = {
  name: 'cron-runs',
  domains: ['schedules'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const { jobs, from, to, runs, naive } = drawTable(draw)
    if (runs.length < 4 || runs.length > 220) return null
    if (level !== 'easy' && naive.length === runs.length) return null
    const table = random.pick(['crontab', 'jobs.cron', 'schedule.txt'])
    const out = random.pick(['runs.txt', 'plan.txt', 'out/timetable.txt', 'upcoming.txt'])
    const ask = words.say(
      random.pick([
        `\`${root}/${table}\` is a crontab whose lines end with the name of a job instead of a command. Which runs fall between ${stamp(from)} and ${stamp(to)}, both minutes included? Write one line per run to \`${root}/${out}\`, in the form \`YYYY-MM-DD HH:MM NAME\`, ordered by time and, within the same minute, by name.`,
        `We need the timetable of the jobs in \`${root}/${table}\` (five cron fields, then the job's name) from ${stamp(from)} up to and including ${stamp(to)}. Write it to \`${root}/${out}\`: one line \`YYYY-MM-DD HH:MM NAME\` per run, earliest first, with runs in the same minute sorted by name.`,
        `A scheduler reads \`${root}/${table}\`: minute, hour, day of the month, month, weekday, job name. List everything it starts from ${stamp(from)} to ${stamp(to)} (inclusive) in \`${root}/${out}\`, as \`YYYY-MM-DD HH:MM NAME\`, sorted by time, then by name.`,
      ]),
      [
        `Expand the crontab \`${root}/${table}\`, in which each line has the name of a job where the command would be. I want to see every run from ${stamp(from)} through ${stamp(to)}, including both of these minutes. Put the list into \`${root}/${out}\`, one run per line as \`YYYY-MM-DD HH:MM NAME\`, in order of time and, within a minute, in order of name.`,
        `When do the jobs in \`${root}/${table}\` run? Its lines have five cron fields followed by the name of a job. Put one line \`YYYY-MM-DD HH:MM NAME\` into \`${root}/${out}\` for each run that starts no earlier than ${stamp(from)} and no later than ${stamp(to)}. Earlier runs come first; runs of the same minute are sorted by name.`,
        `Create \`${root}/${out}\`, a list of all job starts from ${stamp(from)} to ${stamp(to)}, inclusive on both ends, with a line of the form \`YYYY-MM-DD HH:MM NAME\` for each. Sort it by time and, for equal times, by name. The schedule is the crontab \`${root}/${table}\`: minute, hour, day of the month, month, weekday, and the name of the job in place of a command.`,
        `Input: \`${root}/${table}\`, a crontab with job names instead of commands. Period: ${stamp(from)} to ${stamp(to)}, first and last minute included. Output: \`${root}/${out}\`, a line \`YYYY-MM-DD HH:MM NAME\` per run in that period, sorted by time, then by name.`,
      ],
    )
    return reportWork(draw, {
      domain: 'schedules',
      operation: 'cron-runs',
      shape: 'crontab',
      faults: jobs.some(({ eitherDay }) => eitherDay) ? ['either-day'] : [],
      ask: [ask, rules(draw)],
      before: { [table]: file(crontab(draw, jobs)) },
      out,
      text: lines(runs),
      solve: runsScript(table, from, to),
    })
  },
}

const missedRuns: Operation = {
  name: 'missed-runs',
  domains: ['schedules'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const { jobs, from, to, runs, naive } = drawTable(draw)
    if (runs.length < 8 || runs.length > 220) return null
    const missed = new Set(random.few(runs, byLevel(level, 2, 4, 8)))
    const isRun = new Set(runs)
    const logged = runs
      .filter((run) => !missed.has(run))
      .map((run) => `${run.slice(0, 16)}:${seconds(draw)}Z ${run.slice(17)}`)
    const byHand = random
      .few(jobs, byLevel(level, 1, 2, 3))
      .map(({ name }) => `${stamp(random.int(from / 60_000, to / 60_000) * 60_000)} ${name}`)
    const extra = byHand
      .filter((run) => !isRun.has(run))
      .map((run) => `${run.slice(0, 16)}:${seconds(draw)}Z ${run.slice(17)}`)
    const log = [...logged, ...extra].map((line) => line.replace(' ', 'T')).sort()
    const wrong = naive.filter(
      (run) => !logged.some((line) => line.startsWith(run.slice(0, 16)) && line.endsWith(run.slice(16))),
    )
    if (level !== 'easy' && wrong.length === missed.size) return null
    const [table, journal] = [random.pick(['crontab', 'jobs.cron']), random.pick(['runs.log', 'scheduler.log'])]
    const out = random.pick(['missed.txt', 'skipped.txt', 'out/gaps.txt'])
    const ask = words.say(
      random.pick([
        `The scheduler of \`${root}/${table}\` (five cron fields and the name of a job per line) was unreliable between ${stamp(from)} and ${stamp(to)}, inclusive. \`${root}/${journal}\` has a line for every job that was started in that time. Find the runs that were due but did not happen, and write them to \`${root}/${out}\`, one per line, as \`YYYY-MM-DD HH:MM NAME\`, sorted by time and then by name.`,
        `Compare what should have run with what did. What should have run is in the crontab \`${root}/${table}\` (the last column names the job), for ${stamp(from)} to ${stamp(to)} inclusive; what did is in \`${root}/${journal}\`. Write every run that is missing from the log to \`${root}/${out}\`, one per line as \`YYYY-MM-DD HH:MM NAME\`, sorted by time, then name.`,
      ]),
      [
        `Which jobs did not run although they were due? The schedule is \`${root}/${table}\` (per line five cron fields and the name of a job), the period is ${stamp(from)} to ${stamp(to)}, both minutes included, and \`${root}/${journal}\` records every start of a job in it. List each run that was due but did not happen in \`${root}/${out}\`, as a line \`YYYY-MM-DD HH:MM NAME\`, in order of time and then of name.`,
        `Between ${stamp(from)} and ${stamp(to)} (both inclusive), our scheduler skipped some jobs. Please write the skipped runs to \`${root}/${out}\`, a line \`YYYY-MM-DD HH:MM NAME\` for each, earliest first and by name within the same minute. To find them, compare the crontab \`${root}/${table}\`, whose last column is the name of the job, with \`${root}/${journal}\`, the log of all jobs that were started in that time.`,
        `Find the gaps in \`${root}/${journal}\`, which has one line for each job started from ${stamp(from)} to ${stamp(to)}, inclusive. The crontab \`${root}/${table}\` (five cron fields, then the name of a job) says which runs there should have been in that time. Save those that are missing from the log to \`${root}/${out}\`: one run per line, \`YYYY-MM-DD HH:MM NAME\`, sorted by time, then by name.`,
        `Expected runs: those of the crontab \`${root}/${table}\` (job names in the last column) from ${stamp(from)} up to and including ${stamp(to)}. Actual runs: \`${root}/${journal}\`, a line per start. Wanted: the runs that were expected but did not take place, in \`${root}/${out}\`, one \`YYYY-MM-DD HH:MM NAME\` per line, ordered by time and, where times are equal, by name.`,
      ],
    )
    const how = words.say(
      random.pick([
        'A run belongs to the minute in which it started. Jobs that were started when they were not due were started by hand; ignore those lines.',
        'Ignore the seconds in the log: a run belongs to the minute in which it started. Some jobs were also started by hand at other times; ignore those lines.',
      ]),
      [
        'Only the minute of a start matters, not the seconds. Lines for jobs that were not due in that minute come from starts by hand; ignore them.',
        'Assign each start in the log to its minute, whatever the seconds. Where a job was started without being due, a person did so by hand: skip such lines.',
        'The seconds in the log are irrelevant: what counts is the minute in which a job was started. The log also has starts by hand, at times when the job was not due; disregard them.',
        'A start at any second of a minute is the run of that minute. Disregard lines about jobs that were not due in that minute; those were started by hand.',
      ],
    )
    return reportWork(draw, {
      domain: 'schedules',
      operation: 'missed-runs',
      shape: 'crontab-and-log',
      faults: ['missing-runs'],
      ask: [ask, `${how} ${rules(draw)}`],
      before: { [table]: file(crontab(draw, jobs)), [journal]: file(lines(log)) },
      out,
      text: lines(runs.filter((run) => missed.has(run))),
      solve: `${runsScript(table, from, to).replace("<<'END_OF_PERL'", "<<'END_OF_PERL' > /tmp/due.txt")}
sed -E 's/^(.{10})T(.{5}):..Z /\\1 \\2 /' ${journal} | sort -u > /tmp/started.txt
sort /tmp/due.txt | comm -23 - /tmp/started.txt
rm /tmp/due.txt /tmp/started.txt`,
    })
  },
}

function seconds({ random }: Draw): string {
  return String(random.int(0, 59)).padStart(2, '0')
}

/** Operations on crontabs. */
export const scheduleOperations: readonly Operation[] = [cronRuns, missedRuns]
