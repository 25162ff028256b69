import { toLocalNaive } from '../../lib/time.ts'

/** A time of a record the way Harbor writes it in a trial: UTC, and no fraction when there is none. */
export function renderUtc(utc: string): string {
  return utc.replace(/\.0+Z$/, 'Z')
}

/** A time of a record the way Harbor writes it in a job: local, without a zone. */
export function renderLocal(utc: string): string {
  return toLocalNaive(utc).replace(/\.0+$/, '')
}

/** Any time Python wrote, as UTC with microseconds; one without a zone is local. Null when it is no time. */
export function parseTime(text: string): string | null {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/.exec(text)
  if (!match) return null
  const [, day, time, fraction = '', zone = ''] = match
  const date = new Date(`${day}T${time}${zone}`)
  if (Number.isNaN(date.getTime())) return null
  return `${date.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`
}
