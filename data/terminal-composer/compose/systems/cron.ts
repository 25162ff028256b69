import type { Draws } from 'ot-agent'

/** A crontab line and the minutes, hours, days, months and weekdays it stands for. */
export interface CronJob {
  readonly name: string
  readonly expression: string
  readonly fields: readonly (readonly number[])[]
  /** Both days of the month and days of the week are given: matching either is enough. */
  readonly eitherDay: boolean
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const

/** Draws a job that runs at least once a week. `rich` allows names, lists, steps in ranges, and both kinds of days. */
export function drawJob(random: Draws, name: string, rich: boolean): CronJob {
  const [minute, hour] = random.pick<readonly [Field, Field]>([
    [one(random, 0), one(random, 1)],
    [one(random, 0), hours(random, rich)],
    [list(random, 0), one(random, 1)],
    [step(0, random.pick([15, 20, 30])), hours(random, false)],
    [one(random, 0), step(1, random.pick([3, 4, 6, 8]))],
  ])
  const kind = random.pick(rich ? ['any', 'week', 'both', 'both'] : ['any', 'any', 'week'])
  const day = kind === 'both' ? list(random, 2) : any(2)
  const week = kind === 'any' ? any(4) : weekdays(random, rich)
  const fields = [minute, hour, day, any(3), week]
  return {
    name,
    expression: fields.map(({ text }) => text).join(' '),
    fields: fields.map(({ values }) => values),
    eitherDay: kind === 'both',
  }
}

/** The runs of jobs between two minutes, both included, as `YYYY-MM-DD HH:MM NAME`, ordered by time, then name. */
export function runsOf(jobs: readonly CronJob[], from: number, to: number, either = true): string[] {
  const runs: string[] = []
  for (let at = from; at <= to; at += 60_000) {
    const time = new Date(at)
    const stamp = time.toISOString().slice(0, 16).replace('T', ' ')
    const names = jobs.filter((job) => isDue(job, time, either)).map(({ name }) => name)
    runs.push(...names.sort().map((name) => `${stamp} ${name}`))
  }
  return runs
}

function isDue({ fields, eitherDay }: CronJob, time: Date, either: boolean): boolean {
  const has = (at: number, value: number) => fields[at]?.includes(value) ?? false
  const [day, week] = [has(2, time.getUTCDate()), has(4, time.getUTCDay())]
  const isDay = eitherDay && either ? day || week : day && week
  return has(0, time.getUTCMinutes()) && has(1, time.getUTCHours()) && has(3, time.getUTCMonth() + 1) && isDay
}

interface Field {
  readonly text: string
  readonly values: readonly number[]
}

const bounds = (at: number): readonly [number, number] => ranges[at] ?? [0, 0]
const between = (from: number, to: number, by = 1) =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, nth) => from + nth * by)
const any = (at: number): Field => ({ text: '*', values: between(...bounds(at)) })
const step = (at: number, by: number): Field => ({ text: `*/${by}`, values: between(...bounds(at), by) })

function one(random: Draws, at: number): Field {
  const value = random.int(...bounds(at))
  return { text: String(value), values: [value] }
}

function list(random: Draws, at: number): Field {
  const values = random.few(between(...bounds(at)), random.int(2, 3)).sort((a, b) => a - b)
  return { text: values.join(','), values }
}

function hours(random: Draws, stepped: boolean): Field {
  const from = random.int(0, 12)
  const to = from + random.int(3, 10)
  const by = stepped && random.chance(0.6) ? random.int(2, 3) : 1
  return { text: `${from}-${to}${by > 1 ? `/${by}` : ''}`, values: between(from, to, by) }
}

/** Sunday is both 0 and 7, and days have names. */
function weekdays(random: Draws, rich: boolean): Field {
  if (!rich) return { text: '1-5', values: between(1, 5) }
  const values = random.few(between(0, 6), random.int(1, 3)).sort((a, b) => a - b)
  const named = random.chance(0.5)
  const text = values.map((value) => (named ? dayNames[value] : value === 0 ? 7 : value)).join(',')
  return { text, values }
}
