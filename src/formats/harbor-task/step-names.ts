import type { Refuse } from './refuse.ts'

/** Refuses step names that are not one directory's name, or that two steps share on some file system. */
export function checkStepNames(steps: readonly { readonly name: string }[], refuse: Refuse): void {
  const seen = new Set<string>()
  for (const [i, { name }] of steps.entries()) {
    if (!isDirectoryName(name)) refuse(`steps[${i}].name`, 'the name of one directory below steps/', name)
    const folded = name.normalize('NFC').toLowerCase()
    if (seen.has(folded)) refuse(`steps[${i}].name`, 'a name that no other step has', name)
    seen.add(folded)
  }
}

function isDirectoryName(name: string): boolean {
  if (name.trim() === '' || name === '.' || name === '..' || Buffer.byteLength(name) > 255) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return !/[<>:"/\\|?*\x00-\x1f\x7f]/.test(name) && !/[. ]$/.test(name)
}
