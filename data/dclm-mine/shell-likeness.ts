const names =
  'ls|cd|grep|sed|awk|find|sort|uniq|wc|head|tail|cat|cut|tr|xargs|chmod|chown|tar|gzip|curl|wget|ssh|git|make|mkdir|cp|mv|rm|ln|ps|kill|df|du|diff|echo|export|sudo|apt(?:-get)?|pip|docker'
const commands = new RegExp(`\\b(?:${names})\\s`)
/** A line that is a command, as opposed to prose that begins with the same word: "find the file", "make sure". */
const commandLines = new RegExp(`^\\s*(?:${names})\\s+(?:-{1,2}\\w|[/~.'"‘“$]|[^\\s|]+\\s+\\|)`, 'gm')
/** `#` also starts headings and comments, so a known command has to follow it. */
const prompts = new RegExp(
  `^\\s*(?:\\$\\s+\\w|\\w+@\\w+[^$#\\n]{0,60}[$#]\\s+\\w|#\\s+(?:(?:${names})\\s+(?:-{1,2}\\w|[/~.'"$])|apt(?:-get)? |systemctl |service ))`,
  'gm',
)
const constructs = /\b(?:if \[|then$|fi$|for \w+ in |while |do$|done$|case \S+ in|esac$)|\$\(|\$\{\w+\}/m

/**
 * How much a text looks like shell work: code blocks and shebangs weigh most, then prompts, command lines, pipes and
 * redirections up to a cap, then known commands and scripting constructs. Crawled pages are plain text: nothing marks
 * their code.
 */
export function shellLikeness(text: string): number {
  const capped = (pattern: RegExp, each: number, cap: number) =>
    Math.min(cap, (text.match(pattern)?.length ?? 0) * each)
  return (
    (/```|<code>|<pre>/.test(text) ? 10 : 0) +
    (/^#!\s*\/\S*(?:sh|env)\b/m.test(text) ? 10 : 0) +
    capped(prompts, 2, 8) +
    capped(commandLines, 2, 8) +
    capped(/\S\s\|\s\w/g, 2, 6) +
    capped(/\s(?:2?>>?|<)\s?[\w./&-]+/g, 2, 6) +
    (commands.test(text) ? 1 : 0) +
    (constructs.test(text) ? 2 : 0)
  )
}
