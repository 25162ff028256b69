/** The seeds spell options with underscores too: `--dry_run` is `--dry-run`. Whole command lines as values stay as they are. */
export function dashed(argument: string): string {
  return argument.replace(/^--[\w-]+(?=$|=)/, (name) => name.replaceAll('_', '-'))
}
