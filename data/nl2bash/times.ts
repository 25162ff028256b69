import type { Test } from './find.ts'

/** Dates that will stay on the same side of every limit for decades: new files are dated in the future. */
const dates = { old: '2009-03-14 12:00', new: '2061-05-17 12:00', reference: '2030-01-01 12:00' }

export const isTime = ({ name }: Test) => name === 'mtime' || name === 'mmin' || name === 'newer'

/** The dates of things that pass a time test, of the others, and of the file they are compared with. */
export function datesFor({ name, value }: Test) {
  const wantsOld = name !== 'newer' && value.startsWith('+')
  return {
    hit: wantsOld ? dates.old : dates.new,
    miss: wantsOld ? dates.new : dates.old,
    reference: name === 'newer' ? { path: value.replace(/^(?:\.\/)+/, ''), date: dates.reference } : null,
  }
}

export const timeNote =
  'What counts is the time of the last modification. Some files carry dates in the future: they count as the most recent.'

const number = '(?<count>\\d+|an?|one|two|three|four|five|six|seven|ten|thirty|sixty)'
const unit = '(?<unit>minutes?|mins?|hours?|days?|weeks?|months?|years?)'
const which = '(?:(?:that|which) )?(?:(?:were|was|are|is|have been|has been|had been|being) )?(?:last )?'
const modified = '(?:modified|updated|edited|dated)'
const before = '(?:older than|more than|over|at least|earlier than|greater than|longer than|prior to|before)'
const within = '(?:in|within|during|less than|fewer than|no more than|over)'

const oldPhrases = [
  `${which}${modified} ${before} (?:the )?(?:last |past )?${number} ?${unit}(?: (?:ago|old|back))?`,
  `${which}older than ${number} ?${unit}(?: old)?`,
  `(?:that|which)? ?(?:have|has|were|was|are)?(?: not|n't) (?:been )?${modified} (?:in|within|for|during) (?:at least |over |more than )?(?:the )?(?:last |past )?${number}? ?${unit}`,
]
const newPhrases = [
  `${which}${modified} ${within} (?:the )?(?:last |past |previous )?${number}? ?${unit}(?: ago)?`,
  `${which}newer than ${number} ?${unit}(?: old)?`,
]

/** The words without what they say about time; null if they say something different from the test. */
export function withoutTime(words: string, test: Test): string | null {
  const { name, value, negated } = test
  if (negated) return null
  if (name === 'newer') return withoutReference(words, value)
  const [, sign = '', count = ''] = /^([+-])(\d+)$/.exec(value) ?? []
  if (count === '') return null
  const minutes = Number(count) * (name === 'mtime' ? 1440 : 1)
  for (const phrase of sign === '+' ? oldPhrases : newPhrases) {
    const found = new RegExp(`\\b${phrase}\\b`, 'i').exec(words)
    if (!found) continue
    const said = minutesOf(found.groups?.count, found.groups?.unit ?? '')
    // The dates are far from every limit, so a rounded day makes no difference.
    const isSame =
      said !== null && Math.abs(said - minutes) <= (name === 'mtime' ? 1440 * (minutes >= 28 * 1440 ? 3 : 1) : 1)
    return isSame ? `${words.slice(0, found.index)} ${words.slice(found.index + found[0].length)}` : null
  }
  return null
}

const unitMinutes: Readonly<Record<string, number>> = {
  min: 1,
  hou: 60,
  day: 1440,
  wee: 10_080,
  mon: 43_200,
  yea: 525_600,
}
const counts: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  ten: 10,
  thirty: 30,
  sixty: 60,
}

function minutesOf(count: string | undefined, unit: string): number | null {
  const number = count === undefined ? 1 : (counts[count.toLowerCase()] ?? Number(count))
  const each = unitMinutes[unit.slice(0, 3).toLowerCase()]
  return each === undefined || Number.isNaN(number) ? null : number * each
}

function withoutReference(words: string, path: string): string | null {
  const name = path.replace(/^(?:\.\/)+/, '')
  if (!/^[\w.-]+(?:\/[\w.-]+)*$/.test(name)) return null
  const phrase = `${which}(?:newer than|modified (?:after|later than|more recently than))(?: the)?(?: file)? ["']?(?:\\./)?${name.replace(/\W/g, '\\$&')}["']?(?: file)?(?: by modification time)?(?![\\w/])`
  const found = new RegExp(`\\b${phrase}`, 'i').exec(words)
  return found && `${words.slice(0, found.index)} ${words.slice(found.index + found[0].length)}`
}
