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

function tellControl({ random, words, root }: Draw, path: string, name: string, count: number): string[] {
  const some = count === 1 ? 'one thing' : `${count} things`
  return [
    words.say(
      random.pick([
        `\`${root}/${path}\` starts and stops a background program, but ${some} in it ${count === 1 ? 'does' : 'do'} not work as described below. Fix the script in place.`,
        `Someone rewrote \`${root}/${path}\`, which keeps a program running in the background, and got ${some} wrong. Make it behave as described below.`,
        `The control script \`${root}/${path}\` gets ${some} wrong. Fix it so that it matches this description.`,
      ]),
      [
        `Please repair \`${root}/${path}\`, a script that controls a background program. It gets ${some} wrong; what it should do is described below. Edit the file in place.`,
        `\`${root}/${path}\` is meant to run a program in the background and to stop it again. Compared with the description below, ${some} in the script ${count === 1 ? 'is' : 'are'} wrong. Correct ${count === 1 ? 'it' : 'them'} in place.`,
        `We start and stop a background program with \`${root}/${path}\`, but ${some} in that script ${count === 1 ? 'differs' : 'differ'} from what is described here. Fix the script.`,
        `Why does \`${root}/${path}\` misbehave? This script manages a program in the background, and ${some} in it ${count === 1 ? 'does' : 'do'} not match the description below. Find and fix ${count === 1 ? 'it' : 'them'} in that file.`,
        `To fix: ${some} in the control script \`${root}/${path}\`. Afterwards, the script must behave exactly as described here.`,
      ],
    ),
    words.say(
      `It is called as \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\` and keeps the process ID in \`${name}.pid\` and the log in \`${name}.log\`, both in DIR.`,
      [
        `Usage: \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\`. In the folder DIR, the script keeps two files: \`${name}.pid\` with the process ID, and \`${name}.log\`, the log.`,
        `The call has the form \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\`. The process ID is stored in \`${name}.pid\` and the log in \`${name}.log\`; both files are in DIR.`,
        `You call it like this: \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\`. DIR is the folder where it puts the process ID (\`${name}.pid\`) and the log (\`${name}.log\`).`,
        `Its command line is \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\`. It writes the process ID to \`${name}.pid\` and the log to \`${name}.log\`, which are files in DIR.`,
        `It takes a folder, an action and, if needed, a program with arguments: \`bash ${root}/${path} DIR ACTION [PROGRAM ARGUMENT...]\`. The file for the process ID is \`${name}.pid\` in DIR, and the log is \`${name}.log\` in DIR.`,
      ],
    ),
    words.say(
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
      [
        `- \`start\`: if the program is already running, start nothing, print \`already running\` and exit with 1. Otherwise start PROGRAM in a session of its own, passing on its arguments exactly as given, append both its standard output and its standard error to the log, print \`started\` and exit with 0.
- \`stop\`: if nothing is running, remove the PID file, if there is one, print \`not running\` and exit with 1. Otherwise send SIGTERM to the whole process group of the program, that is, to the program and everything it started, and give the program at most about a second to end. If it is still running then, send SIGKILL to the whole group. Afterwards remove the PID file, print \`stopped\` and exit with 0.
- \`status\`: print \`running\` and exit with 0 or, if the program is not running, print \`stopped\` and exit with 3.
- Any other action: print a message to standard error, nothing to standard output, and exit with 2.`,
        `With \`start\`, the script launches PROGRAM with its arguments unchanged, in a new session, and everything that it writes to standard output or standard error is appended to the log; the script prints \`started\` (exit code 0). A program that is already running is not started again: then the script prints \`already running\` (exit code 1).

With \`stop\`, the program and everything it started, its process group, get SIGTERM; if the program has not ended within about a second, all of them get SIGKILL. The PID file is removed, and the script prints \`stopped\` (exit code 0). If there is nothing to stop, it prints \`not running\` (exit code 1) and removes the PID file if one is left.

With \`status\`, it prints \`running\` (exit code 0) if the program is running and \`stopped\` (exit code 3) if it is not.

With any other action, it prints a message to standard error, leaves standard output empty and exits with code 2.`,
        `Each action, with what it prints and its exit code:

- \`start\`, program not running: PROGRAM is run in its own session with exactly the given arguments, and its standard output and standard error are appended to the log. Prints \`started\`, exit code 0.
- \`start\`, program already running: nothing is started. Prints \`already running\`, exit code 1.
- \`stop\`, program running: SIGTERM to its process group (the program and everything it started); if the program does not end within about a second, SIGKILL to the same group. The PID file is removed. Prints \`stopped\`, exit code 0.
- \`stop\`, program not running: the PID file is removed if it exists. Prints \`not running\`, exit code 1.
- \`status\`: prints \`running\`, exit code 0, or \`stopped\`, exit code 3, depending on whether the program is running.
- Any other action: a message on standard error, nothing on standard output, exit code 2.`,
      ],
    ),
    words.say(
      random.pick([
        'A PID file alone proves nothing: its process may have ended long ago.',
        'Keep in mind that a PID file may be left over from a program that is no longer running.',
      ]),
      [
        'Note that a PID file can outlive its program: the process that it names may no longer exist.',
        'That there is a PID file does not mean that the program is running: the file may be an old one.',
        'Do not rely on the PID file alone; its process may have ended in the meantime.',
        'If the process in the PID file has ended, the program is not running, even though the file is there.',
        'PID files sometimes stay behind when a program ends, so it matters whether the process really exists.',
      ],
    ),
  ]
}

/** Operations on running programs. */
export const controlOperations: readonly Operation[] = [repairControl]
