const commands =
  /\b(?:ls|cd|grep|sed|awk|find|sort|uniq|wc|head|tail|cat|cut|tr|xargs|chmod|chown|tar|gzip|curl|wget|ssh|git|make|mkdir|cp|mv|rm|ln|ps|kill|df|du|diff|echo|export|sudo|apt(?:-get)?|pip|docker)\s/
const constructs = /\b(?:if \[|then$|fi$|for \w+ in |while |do$|done$|case \S+ in|esac$)|\$\(|\$\{\w+\}/m

/**
 * How much a text looks like one about the shell: blocks of code and shebangs weigh most, then prompts, pipes and
 * redirections up to a cap, then known commands and constructs of scripts.
 */
export function shellLikeness(text: string): number {
  const capped = (pattern: RegExp, each: number, cap: number) =>
    Math.min(cap, (text.match(pattern)?.length ?? 0) * each)
  return (
    (/```|<code>|<pre>/.test(text) ? 10 : 0) +
    (/^#!\s*\/\S*(?:sh|env)\b/m.test(text) ? 10 : 0) +
    capped(/^\s*(?:\$|#|\w+@\w+[^$#\n]{0,60}[$#])\s+\w/gm, 2, 8) +
    capped(/\S\s\|\s\w/g, 2, 6) +
    capped(/\s(?:2?>>?|<)\s?[\w./&-]+/g, 2, 6) +
    (commands.test(text) ? 1 : 0) +
    (constructs.test(text) ? 2 : 0)
  )
}
