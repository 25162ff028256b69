import { inBytes } from '../files/some-files.ts'
import { firstNames } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { lines, reportWork } from './report-work.ts'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly user: string
  readonly state: string
  readonly memory: number
  readonly command: string
}

const programs = [
  'httpd -k start',
  'worker --queue mail',
  'postgres: writer',
  'sh -c run',
  'python3 sync.py',
  'perl tail.pl',
  'sleep 60',
  'java -jar app.jar',
]

/** A forest: services are children of process 1, everything else descends from one of them. */
function drawProcesses({ random, level }: Draw): readonly Process[] {
  const users = random.few(firstNames, 3).map((name) => name.toLowerCase())
  const pids = [...new Set(Array.from({ length: byLevel(level, 14, 30, 60) }, () => random.int(40, 32_000)))]
  const services = byLevel(level, 3, 5, 8)
  const processes: Process[] = [{ pid: 1, parent: 0, user: 'root', state: 'S', memory: 9000, command: 'init' }]
  pids.forEach((pid, nth) => {
    const parent = nth < services ? 1 : (random.pick(processes.slice(1).filter(({ state }) => state !== 'Z')).pid ?? 1)
    const isZombie = nth >= services && random.chance(0.15)
    const program =
      nth < services
        ? `service-${random.pick(['mail', 'web', 'jobs', 'cache', 'auth'])}-${nth + 1} --daemon`
        : random.pick(programs)
    processes.push({
      pid,
      parent,
      user: random.pick(users),
      state: isZombie ? 'Z' : random.pick(['S', 'S', 'S', 'R', 'D']),
      memory: isZombie ? 0 : random.int(300, 90_000),
      command: isZombie ? '[defunct]' : program,
    })
  })
  return processes
}

/** A process's descendants; a naive reader stops at its children. */
function familyOf(all: readonly Process[], pid: number, deep: boolean): readonly Process[] {
  const children = all.filter(({ parent }) => parent === pid)
  return children.flatMap((child) => [child, ...(deep ? familyOf(all, child.pid, true) : [])])
}

function report(all: readonly Process[], deep: boolean): string[] {
  const services = all
    .filter(({ parent }) => parent === 1)
    .map((service) => {
      const family = [service, ...familyOf(all, service.pid, deep)]
      const memory = family.reduce((sum, one) => sum + one.memory, 0)
      return {
        name: service.command.split(' ')[0] ?? '',
        count: family.length,
        memory,
        zombies: family.filter(({ state }) => state === 'Z').length,
      }
    })
  return services
    .sort((a, b) => b.memory - a.memory || inBytes(a.name, b.name))
    .map(({ name, count, memory, zombies }) => `${name} ${count} ${memory} ${zombies}`)
}

const processTree: Operation = {
  name: 'process-tree',
  domains: ['processes'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const all = drawProcesses(draw)
    const text = report(all, true)
    if (level !== 'easy' && text.join() === report(all, false).join()) return null
    const path = random.pick(['ps.txt', 'snapshot.txt', 'incident/processes.txt'])
    const out = random.pick(['services.txt', 'usage.txt', 'out/memory.txt'])
    const ask = [
      words.say(
        random.pick([
          `\`${root}/${path}\` is a snapshot of the processes on a machine that ran out of memory: a header line and then the columns PID, PPID, USER, STATE, RSS (in KiB) and COMMAND. The processes whose parent is process 1 are services, and all descendants of a service, however deep, belong to it.`,
          `Someone saved the process list of a slow machine as \`${root}/${path}\`: after a header line, each line has a process ID, the ID of its parent, a user, a state, the memory in KiB and a command. We call the children of process 1 services; a service includes all of its descendants, however deep.`,
        ]),
        [
          `The file \`${root}/${path}\` lists the processes that ran on a machine: one header line, then one process per line with PID, PPID (the ID of its parent), USER, STATE, RSS (memory in KiB) and COMMAND. A service is a process whose parent is process 1, and its children, their children and so on, down to any depth, are part of it.`,
          `A machine ran out of memory, and this is its process list: \`${root}/${path}\`. The first line is a header; the columns of all others are PID, PPID, USER, STATE, RSS in KiB, and COMMAND. Each direct child of process 1 is what we call a service. To it belong all processes that descend from it, directly or through any number of others.`,
          `Look at \`${root}/${path}\`, the process list of a machine that had become slow. Under a header line, its columns are process ID, process ID of the parent, user, state, memory in KiB and command. Services are the processes whose parent is process 1; every descendant of a service, at whatever depth, counts as part of that service.`,
          `Input: \`${root}/${path}\`, a process list with a header line and the columns PID, PPID, USER, STATE, RSS (in KiB), COMMAND. Service: a process whose PPID is 1. Whatever descends from a service, at any depth, belongs to that service.`,
        ],
      ),
      words.say(
        random.pick([
          `Write one line per service to \`${root}/${out}\`: the first word of its command, the number of its processes (including itself), the sum of their memory, and how many of them are zombies (state \`Z\`), separated by single spaces. Put the service with the most memory first; sort services with equal memory by name.`,
          `For every service, write one line to \`${root}/${out}\` with four fields separated by single spaces: the first word of the command of the service, how many processes belong to it (including itself), the sum of their memory in KiB, and how many of them are zombies (state \`Z\`). Sort the lines by memory, largest first, and then by name.`,
        ]),
        [
          `\`${root}/${out}\` should have a line for each service, in order of memory, largest first, and by name where the memory is equal. Such a line has four parts with single spaces between them: the first word of the command of the service (its name), how many processes it has, itself included, their total memory in KiB, and the number of zombies (state \`Z\`) among them.`,
          `Summarize each service in one line of \`${root}/${out}\`, made of these fields, separated by a single space: the first word of the command of the service; the number of processes that belong to it, counting the service itself; the memory of these processes added up, in KiB; the number of these processes that are zombies, that is, in state \`Z\`. The service with the most memory comes first, and services with the same memory are sorted by name.`,
          `How many processes and how much memory does each service have? Answer in \`${root}/${out}\`, one service per line: first word of its command, count of its processes (itself and all that belong to it), sum of their memory in KiB, count of zombies among them (state \`Z\`), with one space between fields. Sort by that sum in descending order, then by name.`,
          `Per service, put a line into \`${root}/${out}\` with its name (the first word of its command), its number of processes including itself, the KiB of memory they have together, and how many of them have the state \`Z\` (zombies). Single spaces separate the four. Sort the lines by memory, highest first, and those with equal memory by name.`,
        ],
      ),
    ]
    const rows = random
      .shuffle(all)
      .map(
        ({ pid, parent, user, state, memory, command }) =>
          `${String(pid).padStart(6)} ${String(parent).padStart(6)} ${user.padEnd(8)} ${state}     ${String(memory).padStart(8)} ${command}`,
      )
    return reportWork(draw, {
      domain: 'processes',
      operation: 'process-tree',
      shape: 'snapshot',
      faults: ['deep-families'],
      ask,
      before: { [path]: file(lines(['   PID   PPID USER     STATE      RSS COMMAND', ...rows])) },
      out,
      text: lines(text),
      solve: `awk 'NR > 1 { parent[$1] = $2; state[$1] = $4; memory[$1] = $5; command[$1] = $6 }
END {
  for (pid in parent) {
    if (pid == 1) continue
    top = pid
    while (parent[top] != 1) top = parent[top]
    count[top]++; total[top] += memory[pid]; if (state[pid] == "Z") zombies[top]++
  }
  for (top in count) print command[top], count[top], total[top], zombies[top] + 0
}' ${path} | sort -k3,3nr -k1,1`,
    })
  },
}

/** Operations on process lists. */
export const processTreeOperations: readonly Operation[] = [processTree]
