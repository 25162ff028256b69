import { accentedNames, firstNames, lastNames } from '../words.ts'
import type { CellSource } from './table.ts'

/** Unique keys such as `L-0412`, ascending with random gaps. */
export function id(prefix: string): CellSource {
  return {
    kind: 'id',
    begin: (random) => {
      const start = random.int(10, 90) * 10
      const step = random.int(3, 9)
      return (drawing, row) => `${prefix}${String(start + row * step + drawing.int(0, 2)).padStart(4, '0')}`
    },
  }
}

/** Names of people; about one in eight has letters beyond ASCII. */
export const person: CellSource = {
  kind: 'name',
  begin: () => (random) => {
    const last = random.chance(0.12) ? random.pick(accentedNames) : random.pick(lastNames)
    return `${random.pick(firstNames)} ${last}`
  },
}

/** One of a few values; each table uses only some of the given ones. */
export function category(values: string): CellSource {
  return {
    kind: 'category',
    begin: (random) => {
      const used = random.few(values.split(' '), random.int(3, 6))
      return (drawing) => drawing.pick(used)
    },
  }
}

export function int(min: number, max: number): CellSource {
  return { kind: 'int', begin: () => (random) => String(random.int(min, max)) }
}

/** An amount with two decimals, between two whole amounts. */
export function money(min: number, max: number): CellSource {
  return { kind: 'money', begin: () => (random) => (random.int(min * 100, max * 100) / 100).toFixed(2) }
}

/** Days within a few months, starting in a random month of these years. */
export function date(firstYear: number, lastYear: number): CellSource {
  return {
    kind: 'date',
    begin: (random) => {
      const start = Date.UTC(random.int(firstYear, lastYear), random.int(0, 11), 1)
      const days = random.int(60, 400)
      return (drawing) => new Date(start + drawing.int(0, days) * 86_400_000).toISOString().slice(0, 10)
    },
  }
}
