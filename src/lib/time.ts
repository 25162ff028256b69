/** Now, in UTC with microseconds: `2026-11-15T00:00:55.187153Z`. */
export function utcNow(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000)
  const iso = new Date(Math.floor(micros / 1000)).toISOString()
  return `${iso.slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`
}

/** A UTC time written as a local time without a zone, the way Python's `datetime.now()` prints. */
export function toLocalNaive(utc: string): string {
  const date = new Date(utc)
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString()
  return `${shifted.slice(0, -1)}${utc.length === 27 ? utc.slice(23, 26) : '000'}`
}

/** `2026-11-15__00-00-55` in local time: Harbor's default job name. */
export function localStamp(date: Date): string {
  return toLocalNaive(date.toISOString()).slice(0, 19).replace('T', '__').replaceAll(':', '-')
}
