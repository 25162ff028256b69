/** Quotes a string so that any POSIX shell reads it back as one word. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** The seeds spell options with underscores too: `--dry_run` is `--dry-run`. Whole command lines as values stay as they are. */
export function dashed(argument: string): string {
  return argument.replace(/^--[\w-]+(?=$|=)/, (name) => name.replaceAll('_', '-'))
}
