/** `950`, `12.3k`, `4.56M`. */
export function renderCount(count: number): string {
  if (count < 1000) return String(count)
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`
}

/** `7s`, `2m05s`, `3h12m`. */
export function renderDuration(sec: number): string {
  const whole = Math.max(0, Math.round(sec))
  if (whole < 60) return `${whole}s`
  const pad = (n: number) => String(n).padStart(2, '0')
  if (whole < 3600) return `${Math.floor(whole / 60)}m${pad(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${pad(Math.floor((whole % 3600) / 60))}m`
}

/** Bytes in a readable form. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`
}
