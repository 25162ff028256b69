import { byLevel, type Family, lines } from '../family.ts'

/** Words for ladders; each puzzle lists some of them. */
const vocabulary =
  'bale ball bald bold bolt bole bore bare bard barn born corn core cord card care care case cast cost coat boat bolt belt bell tell tall tale tile till tilt time tame same some sole pole pale pall pill pile mile mild mind mine mane made mode code cove cave save sale salt silt sill sell seal real reel feel fell fall fail mail main rain ruin rein vein veil heel heal head lead load road roar boar bear dear deer peer pear peat meat moat moot root rout pout pour four foul fowl bowl'.split(
    ' ',
  )

/** Get from one word to another, one letter at a time. */
export const wordLadder: Family = {
  name: 'word-ladder',
  draw: (random, level) => {
    const words = random.few([...new Set(vocabulary)], random.int(byLevel(level, 40, 60, 75), 90))
    const [start] = words
    if (start === undefined) return null
    const ways = new Map([[start, [start]]])
    for (const [word, way] of ways) {
      for (const next of words) if (!ways.has(next) && differsByOne(word, next)) ways.set(next, [...way, next])
    }
    const ends = [...ways].filter(([, way]) => way.length >= byLevel(level, 4, 6, 8))
    if (ends.length === 0) return null
    const [end, way] = random.pick(ends)
    return {
      ask: [
        `\`PUZZLE\` gives a first word (\`from ${start}\`), a last word (\`to ${end}\`) and then the words that you may use, one per line.`,
        `${random.pick(['Get from the first word to the last', 'Build a word ladder from the first word to the last'])} in as few steps as possible. Each step changes exactly one letter, and every word along the way must be in the list. Write the ladder to \`ANSWER\`, one word per line, including the first and the last word. If there are several shortest ladders, any of them is accepted.`,
      ],
      text: lines([`from ${start}`, `to ${end}`, ...words]),
      facts: { words: way.length },
      answer: lines(way),
    }
  },
  check: `file == 1 { fact[$1] = $2 }
file == 2 && $1 == "from" { from = $2; next }
file == 2 && $1 == "to" { to = $2; next }
file == 2 { known[$0] }
file == 3 {
  m++
  if (!($0 in known)) bad = 1
  if (m == 1 && $0 != from) bad = 1
  if (m > 1) { d = 0; for (i = 1; i <= 4; i++) if (substr($0, i, 1) != substr(last, i, 1)) d++; if (d != 1) bad = 1 }
  last = $0
}
END { if (!bad && m == fact["words"] && last == to) accept() }`,
}

function differsByOne(a: string, b: string): boolean {
  return [...a].filter((letter, at) => letter !== b[at]).length === 1
}
