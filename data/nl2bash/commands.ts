/** Programs that only look, and say the same every time. */
const readers = new Set(
  'awk basename cat comm cut diff dirname echo egrep fgrep file find fold grep head join ls nl paste printf rev sed seq sort stat tac tail tr uniq wc xargs'.split(
    ' ',
  ),
)

/** Why a command cannot be asked for in a copy of a folder; null when it can. */
export function refuseCommand(command: string, minWords: number): string | null {
  const text = command.trim()
  if (text === '' || text.length > 400 || /[\r\n]/.test(text)) return 'odd-command'
  if (text.split(/\s+/).length < minWords) return 'too-simple'
  if (/[`]|\$\(|<\(|>|&(?!&)|\bsudo\b/.test(text)) return 'may-write'
  if (/(?:^|[\s'"=])(?:\/|~)/.test(text)) return 'leaves-the-folder'
  if (
    /-(?:delete|exec|ok|fprint)|\bsed\b.*\s(?:-[a-zA-Z]*i|--in-place)|\bsort\b.*\s-[a-zA-Z]*o|-(?:mtime|mmin|atime|amin|ctime|cmin|newer|user|group|inum)|\bls\b.*\s-[a-zA-Z]*[ltcu]|\bdate\b/.test(
      text,
    )
  )
    return 'not-the-same-twice'
  const programs = text.split(/\|\|?|&&|;/).map((part) => part.trim().split(/\s+/)[0] ?? '')
  return programs.every((program) => readers.has(program)) ? null : 'other-program'
}
