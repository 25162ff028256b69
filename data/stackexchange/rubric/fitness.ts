import { endorsements, type PostAnswer, proseOf, type Question } from '../question.ts'

/** Why an agent that only has a question's words cannot be asked it. */
export interface Unfit {
  readonly drop: string
  readonly detail: string
}

type Rule = readonly [drop: string, pattern: RegExp]

/** What the question depends on, or already reveals. */
const ofQuestion: readonly Rule[] = [
  ['needs-picture', /\[image: |i\.stack\.imgur\.com|\b(?:screen ?shots?|see (?:the )?(?:image|picture))\b/i],
  [
    'solved-in-question',
    /\b(?:(?:i|we) (?:have |'ve |just |finally |already )*(?:solved|fixed(?![^.?!\n]{0,40}\bbut\b|[^?]{0,80}\bmy question\b)|figured (?:it|this|that) out|found (?:a|the|my) (?:solution|answer|fix|workaround|mistake|problem))|(?:final|working) solution|i(?:'ve| have)? (?:included|added|posted) (?:\w+ )?(?:such an|an|my|my own) answer|see my (?:own )?answer|(?:solved|fixed) it(?![^?]{0,80}\bmy question\b)|(?:edit|update)\W{0,6}\s*(?:\w+\W+){0,6}(?:solved|fixed|works now|resolved)|(?:edit|update)\b[^\n]{0,150}\bnow work(?:s|ing))\b/i,
  ],
  [
    'about-one-account',
    /\bmy (?:\w+ )?(?:funds|rewards?|coins?|balance|ada|tokens?|nfts?)\b[^.?!]{0,80}\b(?:gone|missing|lost|disappear\w*|stuck|not (?:arriv|show|receiv)\w*|stolen|empty)\b|\b(?:lost|missing|recover) my (?:\w+ )?(?:funds|coins?|ada|tokens?|wallet|nfts?)\b/i,
  ],
  [
    'no-single-answer',
    /\b(?:any (?:\w+,? ){0,4}(?:strategies|methodologies)|any (?:recommendations?|suggestions? for|plans?|news|roadmap|timeline)|what(?:'s| is| are) (?:the|your) (?:best|favou?rite)|which (?:\w+ )?(?:is|are) (?:the )?best|recommend (?:a|any|some)|how do (?:people|others|you all|folks)|best practices?|pros and cons|(?:strongest|best) arguments?|(?:your|any) (?:thoughts|opinions?)|when (?:will|can we)|when (?:is|are) [^.?!\n]{0,60}\b(?:coming|released?|launch\w*|available|ready|planned|due|expected)|is there a (?:plan|roadmap|timeline))\b/i,
  ],
  [
    'code-elsewhere',
    /\b(?:rest of (?:the|my) [^.\n]{0,60}https?:|(?:full|complete|whole|my) (?:code|source|repo(?:sitory)?|project|script|file|log|contract)s?(?: \w+){0,3}|repo(?:sitory)?) (?:is |are |can be (?:found|seen) |here|at\b)[^.\n]{0,40}https?:|pastebin\.com|\b(?:code|script|file|log|logs|contract|output|config\w*|here|full)\b[^.\n]{0,60}gist\.github/i,
  ],
]

/** What makes an answer unsuitable as a measure for others. */
const ofAnswer: readonly Rule[] = [
  ['answer-has-picture', /\[image: |i\.stack\.imgur\.com/],
  [
    'answer-asks-back',
    /\b(?:(?:could|can|would|did|have) you (?:\w+ ){0,2}(?:post|share|provide|show|add|give|try(?! (?:the )?following)|tried|check(?:ed)?|clarify|elaborate|confirm|tell|specify)|please (?:post|share|provide|add|clarify|edit)|more (?:details?|information|info|context) (?:is|are|would|please)|what (?:version|os|operating system) (?:are|do) you|hard to (?:tell|say)|not sure (?:if|what|why|how|but)|i(?:'m| am) guessing|just a guess|i guess(?! (?:this|that|it)(?:'s| is) what you\b)|let me know)\b/i,
  ],
  [
    'answer-of-its-day',
    /\b(?:not (?:yet(?! exist\b)|possible (?:yet|right now|at the moment|currently)|(?:currently |yet )(?:supported|available)|(?<!\b(?:may|might) not )(?:currently |yet )?(?:implemented|released))|currently (?:not|no|there|being|under|in development|unavailable|working on|a bug)|(?:at|for) the moment|right now|as of (?:now|today|writing|this writing|yet)|known (?:bug|issue)|(?:it|this|that)(?:'s| is| was| looks like| seems| seems to be| may be| could be)? (?:probably |likely )?a bug|(?:will|should|to) be (?:\w+ )?(?:released|available|fixed|supported|implemented|deployed)|(?:next|upcoming|future) (?:release|version|update|hard ?fork)|(?:will|planned|plans?|hopefully|might|could)\b[^.\n]{0,80}\bin (?:the|a) (?:near )?future|in (?:the|a) near future|coming soon|work in progress|pull request|has been (?:fixed|merged|reported)|i (?:opened|created|filed|submitted|raised) (?:an? )?(?:issue|bug|pr|ticket)|fixed itself|no longer (?:an issue|a problem))\b/i,
  ],
  [
    'answer-is-unsure',
    /\b(?:afaik|iirc|i (?:can't|cannot|can not) (?:say|tell)|(?:i'm|i am) only answering|i just checked|as (?:far as )?i (?:know|remember|recall|understand|can tell)|(?:on|at) first (?:glance|sight)|not (?:really|quite|entirely|totally|100%|completely) sure|i(?:'m| am) not (?:sure|positive|certain|an expert)|(?:have not|haven't) (?:actually |yet )?(?:been able to test|tested)\b|i (?:could|did)(?: not|n't) find|but i think you (?:should|need|can|could)|it (?:probably|may|might) contains?|my (?:best )?guess|i would guess|i suspect|might be wrong|correct me)\b/i,
  ],
  // What follows is about the linked page, not about the question.
  [
    'answer-is-elsewhere',
    /^\W*(?:here(?:'s| is| are)|(?:this|the following|that) (?:page|site|post|tutorial|guide|article|video|link|repo(?:sitory)?|docs?|documentation)\b|(?:you (?:can|could|may|might|should) )?(?:also )?(?:check|see|find|read|(?:take|have) a look|look))\b[^.\n]{0,160}https?:/i,
  ],
  // The criteria would come from text that it retracts.
  [
    'answer-was-corrected',
    /\bedit(?:ed)?\b\W{0,4}[^.\n]{0,80}\b(?:comments?|wrong|incorrect|not|isn't|doesn't|mistake|actually|corrected)\b/i,
  ],
  [
    'answer-is-a-story',
    /\b(?:figured (?:it|this) out|the following worked|this fixed (?:it|my)|happen(?:s|ed) to me|(?:same|similar) (?:problem|issue|error) (?:here|too|as)|me too|i (?:am|was) (?:also )?(?:having|facing|getting) the same|worked for me|works for me|this (?:thread|post|link|question|answer) helped|fixed it by|my (?:problem|issue|mistake|bad|fault)|turn(?:s|ed) out (?:that )?(?:i|my|we|our|it was|the (?:problem|issue|error|mistake|cause))\b|i (?:re-?installed|restarted|rebooted|deleted|found out|figured|realized|realised|managed|ended up|was able|finally|solved|forgot|had to|missed))\b/i,
  ],
]

/** What disqualifies an answer's opening. Further down, it is an aside after the actual answer. */
const ofOpening: readonly Rule[] = [
  ['answer-of-its-day', /https?:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\//i],
  ['answer-was-corrected', /\boriginal (?:post|answer)\b/i],
  // It questions what was asked for.
  ['answer-asks-back', /^\W*why (?:do(?:n't| not)?|would(?:n't)?|are(?:n't)?) you\b[^.?!\n]*\?/i],
  [
    'answer-leans-on-others',
    /\b(?:(?:the|other|previous|above|accepted|\w+'s) (?:answers?|comments?) (?:above|below|by|from)|(?:other|previous|above|accepted|\w+'s) (?:answers?|comments?) (?:is|are|was)|as (?!(?:it|they|i|we)\b)(?:\w+ ){1,3}(?:said|mentioned|pointed out|stated|commented)|in (?:the|your|my) comments?|see my (?:comment|other answer)|asked (?:this |the same )?(?:question )?(?:on|in) (?:the )?(?:discord|telegram|forum)|thanks to|kudos|credits? to|duplicate of|already (?:has|have|made|gave|given|covered|explained)\b[^.\n]{0,40}\b(?:good points|answers?|explanations?)|(?:adding|to add|in addition) to\b[^.\n]{0,30}\banswers?)\b|(?:^|\s)@\w{3,}/im,
  ],
]

/** An answer that many readers endorse may be short. */
const minAnswerChars = { usual: 100, trusted: 60 }
const trustedFrom = 3
/** From this length on, an answer explains the code it quotes. */
const explanationChars = 240
const maxAnswerChars = 8000

/** Why a judge could not decide a task made from a question and its answer; null if it could. */
export function unfitness(question: Question, answer: PostAnswer): Unfit | null {
  const asked = `${question.title}\n${proseOf(question.body)}`
  const said = proseOf(answer.body)
  const words = withoutSpans(said)
  return (
    broken(ofQuestion, asked) ??
    (/\?|\b(?:how|why|what|which|where|\w*(?:error|exception)|fail|expect|should|cannot|can't|(?:are|is|does|do)n't|unable|help|want|need|wonder\w*)\b/i.test(
      asked,
    )
      ? null
      : { drop: 'asks-nothing', detail: 'expected a question, found none' }) ??
    broken(ofAnswer, words) ??
    broken(ofOpening, openingOf(answer)) ??
    (deeds(said) < (answer.isOwn ? 1 : 2)
      ? null
      : { drop: 'answer-is-a-story', detail: 'tells what its author did' }) ??
    lengthProblem(answer) ??
    untoldCommit(question, answer) ??
    (said.trim().length < explanationChars && repeatsQuestion(question, answer)
      ? { drop: 'solved-in-question', detail: 'most lines of code of the answer stand in the question' }
      : null)
  )
}

/** The words before the first code block, and at least the first paragraph. */
function openingOf({ body }: PostAnswer): string {
  const upToCode = body.split(/^(?:> )*`{3,}/m, 1)[0] ?? ''
  const opening =
    upToCode.trim() === ''
      ? (proseOf(body)
          .trim()
          .split(/\n{2,}/, 1)[0] ?? '')
      : upToCode
  return withoutSpans(opening)
}

/** `@String` in code does not mention a user. */
function withoutSpans(text: string): string {
  return text.replace(/`[^`\n]*`/g, '`code`')
}

function broken(rules: readonly Rule[], text: string): Unfit | null {
  for (const [drop, pattern] of rules) {
    const found = pattern.exec(text)
    if (found) return { drop, detail: found[0].replace(/\s+/g, ' ').trim().slice(0, 100) }
  }
  return null
}

/** How often an answer tells what its author did, which others cannot repeat. */
function deeds(said: string): number {
  return [...said.matchAll(/\bI (?:then |just |initially |also )?(?:\w{3,}ed|got|ran|was|went|did|had|made|reset)\b/g)]
    .length
}

function lengthProblem(answer: PostAnswer): Unfit | null {
  // A link proves nothing to a judge who cannot follow it.
  const own = answer.body.replace(/https?:\/\/\S+/g, '').replace(/^> .*$/gm, '')
  const chars = own.replace(/\s+/g, ' ').trim().length
  const least = endorsements(answer) >= trustedFrom ? minAnswerChars.trusted : minAnswerChars.usual
  if (chars < least) return { drop: 'answer-too-short', detail: `${chars} characters without links and quotations` }
  return chars > maxAnswerChars ? { drop: 'answer-too-long', detail: `${chars} characters` } : null
}

/** A commit that the question does not name can only be found in the repository as it was that day. */
function untoldCommit({ title, body }: Question, answer: PostAnswer): Unfit | null {
  const words = answer.body.replace(/https?:\/\/\S+/g, '')
  if (!/\bcommit\b/i.test(words)) return null
  const untold = words.match(/\b[\da-f]{40}\b/g)?.find((digest) => !`${title}\n${body}`.includes(digest))
  return untold === undefined ? null : { drop: 'answer-of-its-day', detail: `commit ${untold}` }
}

/** Whether the answer's code was there before: then the question gives the answer away. */
function repeatsQuestion(question: Question, answer: PostAnswer): boolean {
  const known = plain(question.body)
  const blocks = answer.code
    .map(({ text }) =>
      text
        .split('\n')
        .map(plain)
        .filter((line) => line.length > 8),
    )
    .filter((lines) => lines.length > 0)
  // A block of the answer may well print what the question wants.
  const repeats = (lines: readonly string[]) =>
    lines.filter((line) => known.includes(line)).length / lines.length > 0.85
  return blocks.length > 0 && blocks.every(repeats)
}

function plain(text: string): string {
  return text.replace(/\s+/g, '')
}
