/**
 * Seconds in a Slurm time: minutes, minutes:seconds, hours:minutes:seconds, days-hours:minutes,
 * days-hours:minutes:seconds.
 */
export function secondsOf(time: string): number {
  const [, days, rest = time] = /^(\d+)-(.*)$/.exec(time) ?? []
  const parts = rest.split(':').map(Number)
  const [h = 0, m = 0, s = 0] = days !== undefined || parts.length === 3 ? parts : [0, ...parts]
  return Number(days ?? 0) * 86_400 + h * 3600 + m * 60 + s
}
