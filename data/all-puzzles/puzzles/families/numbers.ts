import { byLevel, type Family, lines } from '../family.ts'

/** Find the digit each letter stands for. */
export const cryptarithm: Family = {
  name: 'cryptarithm',
  draw: (random, level) => {
    const digits = byLevel(level, 3, 4, 6)
    const [a, b] = [0, 1].map(() => random.int(10 ** (digits - 1), 10 ** digits - 1)) as [number, number]
    const letters = random.few([...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'], 10)
    const word = (value: number) => [...String(value)].map((digit) => letters[Number(digit)]).join('')
    const words = [a, b, a + b].map(word)
    const used = [...new Set(words.join(''))].sort()
    return {
      ask: [
        `In this addition, every letter stands for a digit: \`${words[0]} + ${words[1]} = ${words[2]}\`. \`PUZZLE\` has the same three words, one per line.`,
        `Different letters stand for different digits, and no number starts with 0. ${random.pick(['Find the digits', 'Work out which digit each letter stands for'])} and write them to \`ANSWER\`, one \`LETTER=DIGIT\` per line, for every letter that appears. Any assignment that makes the addition correct is accepted.`,
      ],
      text: lines(words),
      answer: lines(used.map((letter) => `${letter}=${letters.indexOf(letter)}`)),
    }
  },
  check: `function value(w,    i, v) { for (i = 1; i <= length(w); i++) v = v * 10 + digit[substr(w, i, 1)]; return v }
file == 2 { word[++n] = $0 }
file == 3 { if ($0 !~ /^[A-Z]=[0-9]$/ || (substr($0, 1, 1) in digit) || taken[substr($0, 3, 1)]++) bad = 1; digit[substr($0, 1, 1)] = substr($0, 3, 1); given++ }
END {
  if (bad || n != 3) exit
  for (k = 1; k <= 3; k++) {
    for (i = 1; i <= length(word[k]); i++) { c = substr(word[k], i, 1); if (!(c in digit)) exit; if (!used[c]++) needed++ }
    if (digit[substr(word[k], 1, 1)] == 0) exit
  }
  if (needed == given && value(word[1]) + value(word[2]) == value(word[3])) accept()
}`,
}

/** Pack as much value as possible within a weight limit. */
export const knapsack: Family = {
  name: 'knapsack',
  draw: (random, level) => {
    const count = random.int(byLevel(level, 6, 12, 22), byLevel(level, 9, 18, 34))
    const items = Array.from({ length: count }, (_, at) => ({
      name: `item${at + 1}`,
      weight: random.int(3, 40),
      value: random.int(5, 99),
    }))
    const limit = Math.floor((items.reduce((sum, { weight }) => sum + weight, 0) * random.int(35, 60)) / 100)
    let best: { value: number; names: readonly string[] }[] = Array.from({ length: limit + 1 }, () => ({
      value: 0,
      names: [],
    }))
    for (const { name, weight, value } of items) {
      best = best.map((old, room) => {
        const without = best[room - weight]
        return without && without.value + value > old.value
          ? { value: without.value + value, names: [...without.names, name] }
          : old
      })
    }
    const top = best[limit]
    if (!top || top.names.length < 2) return null
    return {
      ask: [
        `The first line of \`PUZZLE\` is the weight limit of a bag (\`limit ${limit}\`). Each of the other lines is an item, written as \`item NAME WEIGHT VALUE\`.`,
        `${random.pick(['Pack the bag', 'Choose items'])} so that the total weight does not exceed the limit and the total value is as high as possible. Write the names of the chosen items to \`ANSWER\`, one per line, in any order. If several choices reach the highest value, any of them is accepted.`,
      ],
      text: lines([`limit ${limit}`, ...items.map(({ name, weight, value }) => `item ${name} ${weight} ${value}`)]),
      facts: { best: top.value },
      answer: lines(top.names),
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 && $1 == "limit" { limit = $2 }
file == 2 && $1 == "item" { weight[$2] = $3; value[$2] = $4 }
file == 3 { if (!($1 in weight) || NF != 1 || seen[$1]++) bad = 1; w += weight[$1]; v += value[$1] }
END { if (!bad && w <= limit && v == fact["best"]) accept() }`,
}

/** Choose numbers that add up to a total. */
export const subsetSum: Family = {
  name: 'subset-sum',
  draw: (random, level) => {
    const count = byLevel(level, 8, 16, 28)
    const numbers = [...new Set(Array.from({ length: count }, () => random.int(10, byLevel(level, 200, 2000, 50_000))))]
    const chosen = random.few(numbers, Math.floor(numbers.length / 2))
    const target = chosen.reduce((sum, number) => sum + number, 0)
    return {
      ask: [
        `The first line of \`PUZZLE\` is a target. The other lines are numbers, all different.`,
        `Choose some of the numbers, each at most once, so that they add up to exactly ${target}. ${random.pick(['Write them to `ANSWER`, one per line.', 'Write the chosen numbers to `ANSWER`, one per line, in any order.'])} If there is more than one solution, any of them is accepted.`,
      ],
      text: lines([target, ...numbers].map(String)),
      answer: lines(chosen.map(String)),
    }
  },
  check: `file == 2 { if (++n == 1) target = $1; else there[$1] }
file == 3 { if (!($0 in there) || seen[$0]++) bad = 1; sum += $0; m++ }
END { if (!bad && m > 0 && sum == target) accept() }`,
}

/** Measure water with jugs. */
export const jugs: Family = {
  name: 'jugs',
  draw: (random, level) => {
    const sizes = random.few([3, 4, 5, 7, 8, 9, 11, 13], byLevel(level, 2, 3, 3)).sort((a, b) => b - a)
    const ways = new Map<string, string[]>([[sizes.map(() => 0).join(' '), []]])
    for (const [state, way] of ways) {
      const now = state.split(' ').map(Number)
      for (const [move, next] of moves(now, sizes)) if (!ways.has(next)) ways.set(next, [...way, move])
    }
    const wanted = [...ways].filter(([, way]) => way.length >= byLevel(level, 3, 5, 7))
    if (wanted.length === 0) return null
    const [state] = random.pick(wanted)
    const target = Number(random.pick(state.split(' ')))
    const best = [...ways]
      .filter(([other]) => other.split(' ').includes(String(target)))
      .sort((a, b) => a[1].length - b[1].length)[0]
    if (!best || best[1].length < 2) return null
    return {
      ask: [
        `You have ${sizes.length} empty jugs, numbered from 1. Line N of \`PUZZLE\` says how many liters jug N holds. A move is \`fill N\` (to the brim), \`empty N\` or \`pour N M\` (from jug N into jug M until M is full or N is empty).`,
        `${random.pick(['Measure', 'Get'])} exactly ${target} ${target === 1 ? 'liter' : 'liters'} into one of the jugs in as few moves as possible, and write the moves to \`ANSWER\`, one per line. If there are several shortest sequences of moves, any of them is accepted.`,
      ],
      text: lines(sizes.map(String)),
      facts: { target, moves: best[1].length },
      answer: lines(best[1]),
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 { size[++n] = $1; now[n] = 0 }
file == 3 {
  m++
  if ($1 == "fill" && NF == 2 && ($2 in size)) now[$2] = size[$2]
  else if ($1 == "empty" && NF == 2 && ($2 in size)) now[$2] = 0
  else if ($1 == "pour" && NF == 3 && ($2 in size) && ($3 in size) && $2 != $3) {
    amount = size[$3] - now[$3]; if (now[$2] < amount) amount = now[$2]
    now[$2] -= amount; now[$3] += amount
  } else bad = 1
}
END { if (!bad && m == fact["moves"]) for (i = 1; i <= n; i++) if (now[i] == fact["target"]) { accept(); exit } }`,
}

function moves(now: readonly number[], sizes: readonly number[]): [string, string][] {
  return now.flatMap((amount, from): [string, string][] => [
    [`fill ${from + 1}`, now.with(from, sizes[from] ?? 0).join(' ')],
    [`empty ${from + 1}`, now.with(from, 0).join(' ')],
    ...now.flatMap((there, to): [string, string][] => {
      if (from === to) return []
      const poured = Math.min(amount, (sizes[to] ?? 0) - there)
      return [
        [
          `pour ${from + 1} ${to + 1}`,
          now
            .with(from, amount - poured)
            .with(to, there + poured)
            .join(' '),
        ],
      ]
    }),
  ])
}
