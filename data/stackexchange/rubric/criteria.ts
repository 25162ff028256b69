import type { RubricFile } from 'ot-agent'
import { type Blocks, type PostAnswer, proseOf, type Question } from '../question.ts'

type Criteria = RubricFile['criteria']

const maxDetails = 4
const maxClaims = 3
const maxCodeChars = 2000

/**
 * What a judge looks for, drawn from an endorsed answer: that the question is solved, what the answer says in its first
 * sentences, what it names that the question does not, and what its code does. Null if that is too little.
 */
export function criteriaOf(question: Question, answer: PostAnswer): Criteria | null {
  const details = newDetails(question, answer)
  const claims = claimsOf(question, answer, details)
  const code = newCode(question, answer)
  const points = [...claims.map(claimCriterion), ...details.map(detailCriterion), ...code.map(codeCriterion)]
  if (points.length === 0) return null
  const others = [...points, nothingWrong]
  const sum = others.reduce((all, { weight }) => all + weight, 0)
  return [solves(Math.max(2 * sum, 3 * sum - 8)), ...others]
}

/**
 * At least twice as much as all others together, so that minor points can hardly fail a correct answer or pass a wrong
 * one. With many points, a correct answer still passes at three quarters of the score, with one point to spare.
 */
const solves = (weight: number) => ({
  name: 'solves the question',
  text: 'It answers what was asked, with the same cause, conclusion or way as the known answer, or with another that a knowledgeable reader can see to be right. It decides: a list of guesses, or advice to look elsewhere, does not meet this.',
  weight,
})

const nothingWrong = {
  name: 'nothing wrong',
  text: 'No command, option, name or statement in it is invented, contradicts the known answer or would harm a reader who follows it.',
  weight: 1,
}

function claimCriterion(claim: string, i: number) {
  const text = `It says this in its own words, or something that makes it unnecessary: ${JSON.stringify(claim)}`
  return { name: `point ${i + 1}`, text, weight: 1 }
}

function detailCriterion({ detail, context }: Detail, i: number) {
  const text = `It names \`${detail}\`, or another way to the same end. The known answer has it here: ${JSON.stringify(context)}`
  return { name: `detail ${i + 1}`, text, weight: 1 }
}

function codeCriterion({ text, before }: Blocks[number]) {
  const words = before === '' ? '' : `, after the words ${JSON.stringify(before.replace(/\s+/g, ' '))}`
  const code = text.slice(0, maxCodeChars)
  return {
    name: 'code',
    text: `The known answer shows the code below${words}. The result gives, changes or removes such code as the known answer does, or reaches the same end otherwise; names and values may differ where they do not matter.\n${code}`,
    weight: 2,
  }
}

interface Detail {
  readonly detail: string
  readonly context: string
}

/** Names, options and values marked as code in the answer's sentences but absent from the question. */
function newDetails(question: Question, answer: PostAnswer): readonly Detail[] {
  const known = joined(`${question.title}\n${question.body}`)
  const found = new Map<string, Detail>()
  for (const context of sentencesOf(proseOf(answer.body)))
    for (const [, , span = ''] of givesCredit.test(context) ? [] : context.matchAll(/(`+)(.+?)\1/g)) {
      const detail = span.trim()
      const key = joined(detail)
      const isNew = !found.has(key) && !known.includes(key)
      if (
        isNew &&
        isTelling(detail) &&
        !isExample(context) &&
        !isOwnName(detail, answer) &&
        !isStandIn(detail, context, answer)
      )
        found.set(key, { detail, context: context.slice(0, maxContextChars) })
    }
  return [...found.values()].slice(0, maxDetails)
}

const maxContextChars = 300

/** `policyId` is not new if the question says "policy id". */
function joined(text: string): string {
  return text.toLowerCase().replace(/[\s_-]+/g, '')
}

function isExample(context: string): boolean {
  return /^(?:for (?:example|instance)|e\.?g\b)/i.test(context)
}

/** A name the answer invents for its own code, which the question does not reveal. */
function isOwnName(detail: string, { code }: PostAnswer): boolean {
  const name = detail.replace(/\(\)$/, '')
  if (!/^\w+$/.test(name)) return false
  const declared = new RegExp(
    `\\b(?:def|function|fn|func|let|class|interface|struct|enum|trait|data|newtype|type|module)\\s+${name}\\b|^[ \\t]*${name}[ \\t]*::|^[ \\t]*(?:\\w+[ \\t]+)+${name}[ \\t]*\\([^;\\n]*\\)[ \\t]*\\{`,
    'm',
  )
  return code.some(({ text }) => declared.test(text.replace(overridden, '')))
}

/** Names given by a library or the language. */
const overridden = /(?:@Override\s+|\boverride[ \t])[^\n]*/g

/**
 * `bbs` in "write `show bbs`, where `bbs` is your variable", or a word that the answer's code uses as a value, not as a
 * key.
 */
function isStandIn(detail: string, context: string, { code }: PostAnswer): boolean {
  const quoted = detail.replace(/^(["'])(.*)\1$/, '$2')
  const value = /^\w+$/.test(quoted) ? new RegExp(`(["'])${quoted}\\1(?![ \\t]*:)`) : null
  return code.some(({ text }) => value?.test(text)) || context.includes(`where \`${detail}\` `)
}

/** Not a placeholder, a number, an address or a word that every program has. */
function isTelling(detail: string): boolean {
  return (
    detail.length <= 120 &&
    /[A-Za-z]{3}/.test(detail) &&
    !/^<.*>$|^https?:|^[\da-f]{16,}$|^addr|\byour|example|^(?:true|false|null|none|undefined|string|int|bool)$/i.test(
      detail,
    )
  )
}

/**
 * The answer's first code block that is not in the question; empty if there is none. Later blocks show alternatives or
 * extras.
 */
function newCode(question: Question, answer: PostAnswer): Blocks {
  const isOutput = ({ text, before }: Blocks[number]) =>
    /\b(?:errors?|exception|traceback|warning|fatal)\b|^(?:#\s*)?print\s*\([\w.]+\)\s*\n/i.test(text) ||
    /\b(?:mock|sample|dummy|toy)\b|\b(?:consider|suppose|imagine|say|assume)\b[^.]*$/i.test(before) ||
    /\b(?<!\b(?:desired|wanted|expected|required) )(?:outputs?|errors?|messages?|logs?|prints?|shows|throws|returns|results?|response)\b[^.]*$|\[out\]\s*$/i.test(
      before,
    )
  // What an answer quotes is not its own solution.
  const isQuoted = ({ text }: Blocks[number]) => answer.body.includes(`\n> ${text.split('\n', 1)[0]}\n`)
  const fresh = answer.code.filter(
    (block) => !isOutput(block) && !isRefused(block) && !isQuoted(block) && !isKnown(question, block),
  )
  return fresh.filter(isCode).slice(0, 1)
}

/** Something the answer shows in order to reject it. */
function isRefused({ before }: Blocks[number]): boolean {
  return /\b(?:unnecessary|(?:is|are)(?:n't| not) (?:necessary|needed|required)|(?:do not|don't) (?:do|use|write))\b[^.]*$/i.test(
    before,
  )
}

/** Code that the question shows, with or without its output. */
function isKnown({ body }: Question, { text }: Blocks[number]): boolean {
  if (body.includes(text)) return true
  const command = oneLine(text.split(/\n{2,}/, 1)[0] ?? '')
  return (
    command.length >= 40 &&
    !/^(?:#|import|from|using|use|library|require)\b/.test(command) &&
    oneLine(body).includes(command)
  )
}

function oneLine(text: string): string {
  return text.replace(/\\\n/g, ' ').replace(/\s+/g, ' ').trim()
}

/** One long word is a digest or an address, which no reader can know. */
function isCode({ text }: Blocks[number]): boolean {
  return text.trim().length >= 15 && /\S\s+\S/.test(text)
}

/** The sentences closest to the question, in the answer's order, except those whose details are criteria already. */
function claimsOf({ title, body }: Question, answer: PostAnswer, details: readonly Detail[]): readonly string[] {
  const covered = new Set(details.map(({ context }) => context))
  const all = [...new Set(wholeSentencesOf(answer))].filter(
    (sentence) => isClaim(sentence) && !covered.has(sentence.slice(0, maxContextChars)),
  )
  const asked = new Set([...wordsOf(title), ...wordsOf(proseOf(body))])
  const closeness = (sentence: string) => wordsOf(sentence).filter((word) => asked.has(word)).length
  const chosen = new Set([...all].sort((a, b) => closeness(b) - closeness(a)).slice(0, maxClaims))
  return all.filter((sentence) => chosen.has(sentence))
}

function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[a-z][\w-]{4,}/g))]
}

const givesCredit =
  /(?:^|\s)@\w|\b(?:thanks|kudos|credits?|in (?:the|your|a) comments?|comments? (?:by|from)|suggested by)\b/i

const notAClaim: readonly RegExp[] = [
  /[:?]$/,
  /^[a-z]/,
  /https?:|\b(?:hope|thank|welcome|good luck|disclaimer|edit|update|sorry|hi|hello|cheers|i|i'm|i've|my|me|above|below|questions?|answers?)\b/i,
  /^(?:\(|related\b|also\b|(?:but|and|or)\b|by the way|it depends|for instance|e\.?g\b|if not\b|if (?:this|that) (?:does|is)|this is (?:a|an|the|my) (?:sample|example|snippet|query|command)|removing (?:these|those|this|that))/i,
  /\b(?:provide more|more details|these (?:two |three |few )?lines|first glance|the following (?:lines?|code|commands?)|a bit technical|not (?:really )?sure|what you mean)\b/i,
  /^(?:that(?:'s| is) (?:the|why|how|what)|so,? as\b|th(?:e|is|at) examples?\b|make the following|there (?:is|are) (?!no\b)(?:\w+ ){1,4}ways?\b)/i,
  givesCredit,
  /^(?:here|see|check|look|well|you can (?:find|see|check|read)|for (?:more|further|example)|the following|as follows|more (?:info|details)|in this|to make a long|now|then|first|second|finally|next)\b/i,
]

function isClaim(sentence: string): boolean {
  const words = sentence.split(/\s+/).length
  return words >= 7 && words <= 60 && !notAClaim.some((pattern) => pattern.test(sentence))
}

const endsWhole = /[.!][)"'`*\]]*$/
const codeMark = '\0'
/** Keeps a sentence from ending inside `forall a. Num a`. */
const blankInCode = '\u0001'

/** Without sentences that continue in a code block, which the criterion would lack. */
function wholeSentencesOf({ body }: PostAnswer): readonly string[] {
  const parts = proseOf(body, codeMark).split(codeMark)
  return parts.flatMap((part, i) => {
    const sentences = sentencesOf(part)
    const goesOn = i < parts.length - 1 && !endsWhole.test(sentences.at(-1) ?? '')
    return goesOn ? sentences.slice(0, -1) : sentences
  })
}

/** Sentences of prose; list items and headings count as sentences of their own. */
function sentencesOf(prose: string): readonly string[] {
  return prose
    .split(/\n{2,}|\n(?=[ \t]*(?:-|\d+\.|#+|>) )/)
    .filter((paragraph) => !/^\s*(?:#|>)/.test(paragraph))
    .flatMap((paragraph) => {
      const line = paragraph
        .replace(/^\s*(?:-|\d+\.)\s+/, '')
        .replaceAll('**', '')
        .replace(/\s+/g, ' ')
      const held = line.replace(/(`+)(.+?)\1/g, (span) => span.replaceAll(' ', blankInCode))
      return held.split(/(?<=[.!?])\s+(?=[A-Z`"'(*])/)
    })
    .map((sentence) => sentence.replaceAll(blankInCode, ' ').trim())
    .filter((sentence) => sentence !== '')
}
