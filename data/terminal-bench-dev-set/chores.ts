import type { Random } from 'ot-agent'

/** A request to the agent, and the correct answer. */
interface Chore {
  readonly ask: string
  /** Files in the working directory. */
  readonly files: Readonly<Record<string, string>>
  /** Dockerfile lines that follow the files. */
  readonly setup?: readonly string[]
  readonly expected: readonly string[]
  /** A shell script that finds the lines itself. */
  readonly solution: string
  readonly difficulty: string
}

/** Each kind of chore, by name. */
export const chores: Readonly<Record<string, (random: Random) => Chore>> = {
  'log-errors': logErrors,
  'fill-template': fillTemplate,
  'merged-branches': mergedBranches,
  'process-report': processReport,
}

const services = ['auth', 'billing', 'cache', 'gateway', 'mailer', 'search', 'worker']
const levels = ['DEBUG', 'INFO', 'INFO', 'WARN', 'ERROR', 'ERROR']
const messages = [
  'request took 840 ms',
  'connection reset by peer',
  'retry after ERROR in the last call',
  'no space left in the queue',
  'config ERROR: none found, defaults are used',
  'user signed in',
]

function logErrors(random: Random): Chore {
  const counts = new Map<string, number>()
  const files: Record<string, string> = {}
  const hosts = random.sample(['berlin', 'lima', 'oslo', 'quito', 'turin'], 3)
  for (const host of hosts) {
    for (const name of ['app.log', 'app.log.1', 'archive/app.log.2']) {
      const lines = Array.from({ length: 12 + random.below(20) }, (_, i) => {
        const [service, level] = [random.pick(services), random.pick(levels)]
        if (level === 'ERROR') counts.set(service, (counts.get(service) ?? 0) + 1)
        return `2025-03-0${1 + random.below(8)}T10:${String(i).padStart(2, '0')}:00 ${level} ${service}: ${random.pick(messages)}\n`
      })
      files[`logs/${host}/${name}`] = lines.join('')
    }
  }
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return {
    ask: [
      'The files below `/app/logs`, at any depth, are logs of several hosts. A line is a time, a level, the name of a service with a colon, and a message.',
      'For each service, count its lines of level `ERROR` in all files together. Write one line to `/app/answer.txt` for each service with at least one such line: its name, a space, and the number. The highest number comes first; services with the same number are in alphabetical order.',
    ].join('\n\n'),
    files,
    expected: sorted.map(([service, count]) => `${service} ${count}`),
    solution: `find logs -type f -exec cat {} + | awk '$2 == "ERROR" { sub(":$", "", $3); count[$3]++ } END { for (name in count) print name, count[name] }' | sort -k2,2nr -k1,1 > answer.txt`,
    difficulty: 'easy',
  }
}

const settings = [
  'HOST',
  'PORT',
  'WORKERS',
  'CACHE_DIR',
  'LOG_LEVEL',
  'REGION',
  'TOKEN_FILE',
  'TIMEOUT',
  'MODE',
  'QUEUE',
]

function fillTemplate(random: Random): Chore {
  const names = random.shuffle(settings)
  const drawn = (name: string) => `${name.toLowerCase().replace('_', '-')}-${10 + random.below(90)}`
  const rows = names.map((name, i) => {
    const kind = i < 3 ? i : random.below(4)
    const value = kind === 0 || kind === 3 ? drawn(name) : null
    const standby = kind === 1 || kind === 3 ? drawn(name) : null
    return { key: name.toLowerCase(), name, value, standby }
  })
  const template = rows.map(
    ({ key, name, standby }) => `${key} = "\${${standby === null ? name : `${name}:-${standby}`}}"\n`,
  )
  const values = random.shuffle(rows.flatMap(({ name, value }) => (value === null ? [] : [`${name}=${value}\n`])))
  return {
    ask: [
      'Fill in `/app/service.conf.template`. Each of its lines names one variable, as `${NAME}` or as `${NAME:-DEFAULT}`; `/app/values.env` has values for some of them, one `NAME=VALUE` a line.',
      'Put the value in the place of the whole `${...}`, or the default where there is no value. Leave out lines whose variable has neither. Write the other lines, in their order and otherwise unchanged, to `/app/answer.txt`.',
    ].join('\n\n'),
    files: { 'service.conf.template': template.join(''), 'values.env': values.join('') },
    expected: rows.flatMap(({ key, value, standby }) =>
      value === null && standby === null ? [] : [`${key} = "${value ?? standby}"`],
    ),
    solution: `awk -F= 'NR == FNR { value[$1] = $2; next }
{
  match($0, /\\$\\{[^}]*\\}/)
  inner = substr($0, RSTART + 2, RLENGTH - 3)
  name = inner; fallback = ""; found = 0
  if ((at = index(inner, ":-")) > 0) { name = substr(inner, 1, at - 1); fallback = substr(inner, at + 2); found = 1 }
  if (name in value) { fallback = value[name]; found = 1 }
  if (found) print substr($0, 1, RSTART - 1) fallback substr($0, RSTART + RLENGTH)
}' values.env service.conf.template > answer.txt`,
    difficulty: 'medium',
  }
}

const topics = ['login', 'export', 'search', 'theme', 'cache', 'report', 'upload', 'invoice', 'api', 'docs']

function mergedBranches(random: Random): Chore {
  const branches = random.sample(topics, 7).map((topic, i) => ({
    name: `${random.pick(['feature', 'fix'])}/${topic}`,
    // The first two, and the next two, cover one of each kind.
    merged: i < 2 ? true : i < 4 ? i === 2 : random.below(2) === 0,
    day: i < 2 ? ([3, 27][i] ?? 3) : 1 + random.below(28),
    month: i === 0 ? 2 : i === 1 ? 6 : random.pick([1, 3, 4, 6]),
  }))
  const dateOf = ({ month, day }: { month: number; day: number }) =>
    `2025-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
  const commit = (date: string, what: string) =>
    `GIT_AUTHOR_DATE=${date}T12:00:00Z GIT_COMMITTER_DATE=${date}T12:00:00Z ${what}`
  // All branch off at the first commit, so that none contains a merge, whose date is later.
  const lines = branches.flatMap((branch) => {
    const file = branch.name.replace('/', '-')
    return [
      `git checkout -q -b ${branch.name} main`,
      `echo ${file} > ${file} && git add ${file} && ${commit(dateOf(branch), `git commit -q -m "Add ${file}"`)}`,
    ]
  })
  const merges = branches.flatMap(({ merged, name }) =>
    merged ? [commit('2025-06-29', `git merge -q --no-ff -m "Merge ${name}" ${name}`)] : [],
  )
  const make = [
    'set -eu',
    'export HOME=/tmp GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@example.com GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@example.com',
    'mkdir -p /app/project && cd /app/project && git init -q && git checkout -q -b main',
    `echo start > README && git add README && ${commit('2024-12-01', 'git commit -q -m "Start"')}`,
    ...lines,
    'git checkout -q main',
    ...merges,
  ]
  const old = branches.filter((branch) => branch.merged && dateOf(branch) < '2025-06-01')
  return {
    ask: [
      'In the git repository `/app/project`, find the branches that can be cleaned up: those that are merged into `main` and whose newest commit was made before 1 June 2025 (the date of the committer, UTC).',
      'Write their names to `/app/answer.txt`, one a line, in alphabetical order. `main` itself never counts.',
    ].join('\n\n'),
    files: { 'make.sh': `${make.join('\n')}\n` },
    setup: [
      'RUN command -v git || (apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*)',
      'RUN bash /app/make.sh && rm /app/make.sh',
    ],
    expected: old.map(({ name }) => name).sort(),
    solution: `git -c safe.directory='*' -C project for-each-ref --merged main --format='%(committerdate:unix) %(refname:short)' refs/heads | awk '$1 < 1748736000 && $2 != "main" { print $2 }' | sort > answer.txt`,
    difficulty: 'medium',
  }
}

const commands = [
  'postgres: writer',
  'node server.js',
  'python3 train.py --epochs 3',
  'nginx: worker process',
  'vim notes.txt',
  'sshd: session',
  'java -jar app.jar',
  'rsync -a /data /backup',
]

function processReport(random: Random): Chore {
  const users = ['root', ...random.sample(['ana', 'ben', 'chloe', 'dmitri', 'emeka', 'www-data'], 4)]
  const totals = new Map<string, number>()
  const rows = Array.from({ length: 24 + random.below(12) }, (_, i) => {
    const user = users[i] ?? random.pick(users)
    const tenths = 1 + random.below(90)
    if (user !== 'root') totals.set(user, (totals.get(user) ?? 0) + tenths)
    return [
      String(300 + i * 7),
      user,
      `${random.below(40)}.${random.below(10)}`,
      `${Math.floor(tenths / 10)}.${tenths % 10}`,
      random.pick(commands),
    ]
  })
  const line = ([pid = '', user = '', cpu = '', memory = '', command = '']: readonly string[]) =>
    `${pid.padStart(7)} ${user.padEnd(8)} ${cpu.padStart(5)} ${memory.padStart(5)} ${command}\n`
  const sorted = [...totals].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return {
    ask: [
      'The file `/app/processes.txt` is the table of a server’s processes, as `ps` printed it. The first line names the columns.',
      'How much memory does each user need? Add up the column `%MEM` for each user but `root`. Write one line to `/app/answer.txt` for each user: the name, a space, and the sum with one digit after the point. The largest sum comes first; users with the same sum are in alphabetical order.',
    ].join('\n\n'),
    files: { 'processes.txt': [['PID', 'USER', '%CPU', '%MEM', 'COMMAND'], ...rows].map(line).join('') },
    expected: sorted.map(([user, tenths]) => `${user} ${Math.floor(tenths / 10)}.${tenths % 10}`),
    solution: `awk 'NR > 1 && $2 != "root" { sum[$2] += $4 * 10 } END { for (name in sum) printf "%s %.1f\\n", name, sum[name] / 10 }' processes.txt | sort -k2,2nr -k1,1 > answer.txt`,
    difficulty: 'easy',
  }
}
