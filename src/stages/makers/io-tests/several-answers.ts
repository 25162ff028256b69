/** Verbs of what the program does with its answer. */
const says = String.raw`\b(?:print|output|write|display|report)(?:ed|ted|s)?\b`
const patterns: readonly RegExp[] = [
  new RegExp(`${says}(?: (?:one|a single) \\w+)?[^.?]{0,30}?[ —–-] ?any (?!case|register|number of|other)`, 'i'),
  new RegExp(`${says}[^.?]{0,60}\\bin (?:any|arbitrary) order\\b`, 'i'),
  /\b(?:multiple|several|many|more than one|various|different) (?:\w+ ){0,3}(?:answers?|solutions?|ways?|optimal|outputs?|such|possibilities|possible|valid|correct|suitable|options)\b[^.?]{0,80}(?:\bany\b|accepted|one of)/i,
  /\bany (?:\w+ ){0,3}(?:is|are|will be|would be|can be) (?:accepted|allowed as an answer|printed)\b/i,
]

/** What follows the heading of the input describes what is given, not what is asked for. */
const inputSection = /^\s*(?:#+ |\*\*)?Input\b:?(?:\*\*)?:?\s*\n[\s\S]*?(?=^\s*(?:#+ |\*\*)?Output\b)/gim

/** The words by which a statement accepts several answers to the same input; null when it does not say so. A comparison with one answer would be unfair. */
export function acceptsSeveral(statement: string): string | null {
  const asked = statement.replace(inputSection, '\n')
  for (const pattern of patterns) {
    const found = pattern.exec(asked)
    if (found) return found[0].replace(/\s+/g, ' ')
  }
  return null
}

/** Whether capital and small letters of the answer count alike. */
export function acceptsAnyCase(statement: string): boolean {
  return /\bin (?:any|either|arbitrary) (?:case|register|letter ?case)\b|\bcase[- ]insensitive|\b(?:upper|lower)(?:case)?,? or (?:upper|lower)(?:case)?\b[^.]{0,30}\b(?:any|either|arbitrary|both|accepted)/i.test(
    statement,
  )
}

/** The error that a statement accepts in numbers with a point: "must not exceed 10^{-4}". */
export function acceptedError(statement: string): number | undefined {
  const found =
    /\b(?:error|differ\w*|precision|accura\w*)\b[^.]{0,80}?(?:10\s*\^?\s*\{?\s*[-−–]\s*(\d{1,2})\b|1e-(\d{1,2})\b|0\.(0+)1\b)/i.exec(
      statement,
    )
  if (!found) return undefined
  const digits = Number(found[1] ?? found[2] ?? (found[3] ?? '').length + 1)
  return digits >= 1 && digits <= 12 ? Number(`1e-${digits}`) : undefined
}

/** Whether the program talks with the judge: then no file of inputs can try it. */
export function isInteractive(statement: string): boolean {
  return /\b(?:this is an interactive|interactive (?:problem|task)|flush (?:the )?(?:output|stdout)|fflush)\b/i.test(
    statement,
  )
}
