/** Quotes a string so that any POSIX shell reads it back as one word. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * The Python original also spells options with underscores: `--dry_run` is `--dry-run`. Whole command lines as values
 * stay unchanged.
 */
export function dashed(argument: string): string {
  return argument.replace(/^--[\w-]+(?=$|=)/, (name) => name.replaceAll('_', '-'))
}
