const units = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** Formats a number of bytes for people: `1.5 MB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${power === 0 ? value : value.toFixed(value < 9.95 ? 1 : 0)} ${units[power]}`
}
