/** Replaces unpaired surrogates, which UTF-8 cannot encode, with spaces. */
export function withoutLoneSurrogates(text: string): string {
  return loneSurrogate.test(text) ? text.replace(loneSurrogates, ' ') : text
}

const loneSurrogate = /\p{Surrogate}/u
const loneSurrogates = /\p{Surrogate}/gu

/** The same for every string in a record of columns. */
export function wellFormed<T extends object>(columns: T): T {
  for (const [name, value] of Object.entries(columns)) {
    if (typeof value === 'string' && loneSurrogate.test(value))
      return wellFormed({ ...columns, [name]: withoutLoneSurrogates(value) })
  }
  return columns
}

/** Removes bash's complaints about a missing terminal, which belong to no command's output. */
export function withoutShellNoise(text: string): string {
  return text.includes('no job control in this shell') ? text.replace(jobControl, '') : text
}

const jobControl =
  /^(?:(?:ba)?sh: cannot set terminal process group \(-?\d+\): [^\n]{0,100}\n)?(?:ba)?sh: no job control in this shell(?:\n|$)/gm
