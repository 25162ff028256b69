import { simpleWork } from '../files/simple-work.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type Bug, breakProgram, drawBugs, repairShell } from './repair.ts'

const control = (name: string) => `#!/bin/bash
# ${name}: starts, stops and shows one background program
dir=\${1:?directory}
action=\${2:?action}
shift 2
pidfile=$dir/${name}.pid
log=$dir/${name}.log

running() {
  [ -s "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2> /dev/null
}

case $action in
  start)
    if running; then echo "already running"; exit 1; fi
    setsid "$@" >> "$log" 2>&1 < /dev/null &
    echo "$!" > "$pidfile"
    echo "started"
    ;;
  stop)
    if ! running; then rm -f "$pidfile"; echo "not running"; exit 1; fi
    pid=$(cat "$pidfile")
    kill -TERM -- "-$pid"
    for ((nth = 0; nth < 20; nth++)); do kill -0 "$pid" 2> /dev/null || break; sleep 0.05; done
    if kill -0 "$pid" 2> /dev/null; then kill -KILL -- "-$pid"; fi
    rm -f "$pidfile"
    echo "stopped"
    ;;
  status)
    if running; then echo "running"; else echo "stopped"; exit 3; fi
    ;;
  *)
    echo "unknown action: $action" >&2
    exit 2
    ;;
esac
`

const bugs: readonly Bug[] = [
  ['&& kill -0 "$(cat "$pidfile")" 2> /dev/null', '&& true'],
  ['if running; then echo "already running"; exit 1; fi', 'if running; then echo "already running"; exit 0; fi'],
  ['setsid "$@" >>', 'setsid $* >>'],
  ['>> "$log"', '> "$log"'],
  ['2>&1 <', '<'],
  ['kill -TERM -- "-$pid"', 'kill -TERM "$pid"'],
  ['if kill -0 "$pid" 2> /dev/null; then kill -KILL -- "-$pid"; fi', 'sleep 0.1'],
  ['echo "stopped"; exit 3', 'echo "stopped"; exit 0'],
  ['echo "$!" >', 'echo "$$" >'],
  ['if ! running; then rm -f "$pidfile"; echo', 'if ! running; then echo'],
  ['exit 2', 'exit 1'],
]

/** Starts programs and inspects them: each part fails with some of the bugs. */
const probe = (
  script: string,
  name: string,
) => `ctl() { bash ${script} "$scratch" "$@" 2> "$scratch/err"; echo "exit $?"; }
alive() { if kill -0 "$1" 2> /dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; then echo alive; else echo dead; fi; }
until_file() { for ((n = 0; n < 60; n++)); do [ -s "$1" ] && return; sleep 0.03; done; }
cd "$scratch"
cp "$hidden/worker.sh" "$hidden/deaf.sh" .
ctl status
ctl start bash worker.sh 'two  words'
until_file child
pid=$(cat ${name}.pid)
alive "$pid"
ctl start bash worker.sh again
ctl status
child=$(cat child)
ctl stop
sleep 0.1
alive "$pid"; alive "$child"
ls *.pid 2> /dev/null
ctl stop
cat ${name}.log
rm -f child
ctl start bash deaf.sh
until_file child
pid=$(cat ${name}.pid)
ctl stop
sleep 0.1
alive "$pid"
cat ${name}.log
(exit 0) & gone=$!
wait "$gone"
echo "$gone" > ${name}.pid
ctl status
ctl stop
ls *.pid 2> /dev/null
ctl dance
[ -s err ] && echo message`

const heard = [
  'stopped\nexit 3',
  'started\nexit 0',
  'alive',
  'already running\nexit 1',
  'running\nexit 0',
  'stopped\nexit 0',
  'dead\ndead',
  'not running\nexit 1',
  'working on two  words\nwarning: on stderr',
  'started\nexit 0',
  'stopped\nexit 0',
  'dead',
  'working on two  words\nwarning: on stderr\ndeaf',
  'stopped\nexit 3',
  'not running\nexit 1',
  'exit 2',
  'message',
]

const worker = `sleep 300 &
echo "working on $1"
echo "warning: on stderr" >&2
echo "$!" > child
wait
`

const deaf = `trap '' TERM
echo deaf
echo $$ > child
while :; do sleep 0.2; done
`

const repairControl: Operation = {
  name: 'repair-service-control',
  domains: ['processes'],
  make: (draw) => {
    const { random, level, root } = draw
    const name = random.pick(['worker', 'agent', 'indexer', 'mailer', 'poller', 'crawler'])
    const good = control(name)
    const drawn = drawBugs(random, good, bugs, byLevel(level, 1, 2, random.int(3, 4)))
    const broken = breakProgram(good, drawn)
    if (broken === null) return null
    const path = random.pick(['ctl.sh', 'bin/service.sh', 'control.sh', 'run/manage.sh'])
    return simpleWork(draw, {
      domain: 'processes',
      operation: 'repair-service-control',
      shape: 'control-script',
      faults: drawn.map(() => 'script-bug'),
      ask: tellControl(draw, path, name, drawn.length),
      before: { [path]: file(broken, '755') },
      after: { [path]: { kind: 'some' } },
      probes: [{ command: probe(`${root}/${path}`, name), stdout: heard.map((line) => `${line}\n`).join('') }],
      hidden: { 'worker.sh': worker, 'deaf.sh': deaf },
      solve: repairShell(path, broken, good),
    })
  },
}

function tellControl({ random, root }: Draw, path: string, name: string, count: number): string[] {
  const some = count === 1 ? 'one thing' : `${count} things`
  return [
    random.pick([
      `\`${root}/${path}\` starts and stops a background program, but ${some} in it ${count === 1 ? 'does' : 'do'} not work as described below. Fix the script in place.`,
      `Someone rewrote \`${root}/${path}\`, which keeps a program running in the background, and got ${some} wrong. Make it behave as described below.`,
      `The control script \`${root}/${path}\` gets ${some} wrong. Fix it so that it matches this description.`,
    ]),
    `It is called as \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\` and keeps the process ID in \`${name}.pid\` and the log in \`${name}.log\`, both in DIR.`,
    random.pick([
      `- \`start\` runs PROGRAM with exactly these arguments in its own session, appends its standard output and standard error to the log, prints \`started\` and exits with 0. If the program is already running, it starts nothing, prints \`already running\` and exits with 1.
- \`stop\` sends SIGTERM to the program and everything it started (its process group), waits for at most about a second, and sends SIGKILL to all of them if the program is still running. Then it removes the PID file, prints \`stopped\` and exits with 0. If nothing is running, it removes the PID file, if there is one, prints \`not running\` and exits with 1.
- \`status\` prints \`running\` and exits with 0 if the program is running; otherwise it prints \`stopped\` and exits with 3.
- Any other action prints a message to standard error only and exits with 2.`,
      `\`start\`: runs PROGRAM in a new session with its arguments unchanged; everything it prints, on either stream, is appended to the log. Prints \`started\`, exit code 0; or \`already running\`, exit code 1, if it was already running.

\`stop\`: the whole process group of the program gets SIGTERM, and then SIGKILL if the program does not end within about a second. The PID file is removed. Prints \`stopped\`, exit code 0; or \`not running\`, exit code 1, if there was nothing to stop; a stale PID file is removed in that case, too.

\`status\`: prints \`running\`, exit code 0, or \`stopped\`, exit code 3.

Any other action: exit code 2, with a message on standard error and nothing on standard output.`,
    ]),
    random.pick([
      'A PID file alone proves nothing: its process may have ended long ago.',
      'Keep in mind that a PID file may be left over from a program that is no longer running.',
    ]),
  ]
}

/** Operations on running programs. */
export const controlOperations: readonly Operation[] = [repairControl]
