/** An observation without host name, clock, folder sizes, and the wording of warnings, errors and questions. */
export function shownObservation(text: string): string {
  return text
    .replace(/root@[\w.-]+:/g, 'root@HOST:')
    .replace(/^(WARNINGS: )?- .*$/gm, '$1- [warning]')
    .replace(/^ERROR: .*$/gm, 'ERROR: [error]')
    .replace(/\n\nPlease fix.*$/, '\n\n[what to do]')
    .replace(/\nAre you sure.*$/, '\n[question]')
    .replace(/^(drwx\S+) +\d+ (root +root) +\d+ \w{3} +\d+ [\d:]+/gm, '$1 N $2 SIZE DATE')
    .replace(/^total \d+$/gm, 'total N')
}
