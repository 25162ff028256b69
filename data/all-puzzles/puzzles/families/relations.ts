import { byLevel, type Family, lines } from '../family.ts'

/** Satisfy every clause. */
export const satisfy: Family = {
  name: 'satisfy',
  draw: (random, level) => {
    const count = random.int(byLevel(level, 5, 10, 20), byLevel(level, 8, 16, 36))
    const names = Array.from({ length: count }, (_, at) => `v${at + 1}`)
    const truth = new Map(names.map((name) => [name, random.chance(0.5)]))
    const clause = () => {
      const chosen = random.few(names, 3).map((name) => ({ name, negated: random.chance(0.5) }))
      const [first] = chosen
      if (first && !chosen.some(({ name, negated }) => truth.get(name) !== negated))
        chosen[0] = { ...first, negated: !first.negated }
      return chosen.map(({ name, negated }) => `${negated ? '-' : ''}${name}`).join(' ')
    }
    return {
      ask: [
        `Each line of \`PUZZLE\` is a clause over the variables \`v1\` to \`v${count}\`. A clause is true if at least one of its three parts is true: \`v2\` is true when that variable is 1, and \`-v2\` is true when it is 0.`,
        `${random.pick(['Find values that make every clause true', 'Assign values to the variables so that no clause is false'])} and write \`NAME=0\` or \`NAME=1\` for each of the ${count} variables to \`ANSWER\`, one per line. Any satisfying assignment is accepted.`,
      ],
      text: lines(Array.from({ length: Math.floor(count * 3.6) }, clause)),
      facts: { variables: count },
      answer: lines(names.map((name) => `${name}=${truth.get(name) ? 1 : 0}`)),
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 { line[++n] = $0 }
file == 3 { split($0, part, "="); if ($0 !~ /^v[0-9]+=[01]$/ || (part[1] in value)) bad = 1; value[part[1]] = part[2]; m++ }
END {
  if (bad || m != fact["variables"]) exit
  for (i = 1; i <= m; i++) if (!(("v" i) in value)) exit
  for (i = 1; i <= n; i++) {
    k = split(line[i], part, " "); ok = 0
    for (j = 1; j <= k; j++) if (substr(part[j], 1, 1) == "-" ? value[substr(part[j], 2)] == 0 : value[part[j]] == 1) ok = 1
    if (!ok) exit
  }
  accept()
}`,
}

/** Color a map. */
export const colouring: Family = {
  name: 'colouring',
  draw: (random, level) => {
    const count = random.int(byLevel(level, 6, 12, 24), byLevel(level, 9, 18, 40))
    const colours = ['red', 'green', 'blue', 'yellow'].slice(0, random.int(3, 4))
    const truth = Array.from({ length: count }, () => random.pick(colours))
    const pairs = truth.flatMap((colour, a) =>
      truth.flatMap((other, b) => (a < b && colour !== other ? [`n${a + 1} n${b + 1}`] : [])),
    )
    const edges = random.few(pairs, Math.floor((count * random.int(20, 26)) / 10))
    if (edges.length < count) return null
    return {
      ask: [
        `A map has ${count} regions, \`n1\` to \`n${count}\`. Each line of \`PUZZLE\` names two regions that are neighbors.`,
        `${random.pick(['Color every region', 'Give each region a color,'])} using only ${colours.map((colour) => `\`${colour}\``).join(', ')}, so that neighbors never have the same color. Write \`REGION COLOR\` for each region to \`ANSWER\`, one per line. Any valid coloring is accepted.`,
      ],
      text: lines(edges),
      facts: { regions: count, colours: colours.length },
      answer: lines(truth.map((colour, at) => `n${at + 1} ${colour}`)),
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 { a[++n] = $1; b[n] = $2 }
file == 3 { k = index("red   green blue  yellow", $2); if (NF != 2 || ($1 in colour) || $2 !~ /^(red|green|blue|yellow)$/ || (k - 1) / 6 >= fact["colours"]) bad = 1; colour[$1] = $2; m++ }
END {
  if (bad || m != fact["regions"]) exit
  for (i = 1; i <= m; i++) if (!(("n" i) in colour)) exit
  for (i = 1; i <= n; i++) if (colour[a[i]] == colour[b[i]]) exit
  accept()
}`,
}

/** Order jobs so that every deadline is met. */
export const scheduling: Family = {
  name: 'scheduling',
  draw: (random, level) => {
    const count = random.int(byLevel(level, 5, 9, 14), byLevel(level, 8, 13, 24))
    const order = random.shuffle(Array.from({ length: count }, (_, at) => `j${at + 1}`))
    let clock = 0
    const jobs = order.map((name, at) => {
      const hours = random.int(1, 9)
      clock += hours
      const after = at > 0 && random.chance(0.5) ? random.pick(order.slice(0, at)) : '-'
      return { name, hours, due: clock + random.int(0, byLevel(level, 12, 7, 3)), after }
    })
    return {
      ask: [
        `One machine has to do the jobs listed in \`PUZZLE\`, one after the other without a break, starting at hour 0. Each line has the form \`NAME HOURS DUE AFTER\`: how long the job takes, the hour by which it must be finished, and a job that must be finished before this one starts (\`-\` if there is none).`,
        `${random.pick(['Find an order', 'Put the jobs in an order'])} in which every job finishes on time, and write the names to \`ANSWER\`, one per line, first job first. Any order that works is accepted.`,
      ],
      text: lines(random.shuffle(jobs).map(({ name, hours, due, after }) => `${name} ${hours} ${due} ${after}`)),
      answer: lines(order),
    }
  },
  check: `file == 2 { hours[$1] = $2; due[$1] = $3; after[$1] = $4; n++ }
file == 3 { if (!($0 in hours) || done[$0]) bad = 1; else { if (after[$0] != "-" && !done[after[$0]]) bad = 1; clock += hours[$0]; if (clock > due[$0]) bad = 1; done[$0] = 1; m++ } }
END { if (!bad && m == n) accept() }`,
}
