import {
  collectResults,
  type DraftFile,
  type Dropped,
  judgeFileName,
  type NewDraft,
  type RawRow,
  type RubricFile,
} from 'ot-agent'
import { answersOf, endorsements, type PostAnswer, proseOf, type Question, readQuestion } from './question.ts'
import { criteriaOf } from './rubric/criteria.ts'
import { type Unfit, unfitness } from './rubric/fitness.ts'

const resultFile = '/app/answer.md'

interface RubricAt {
  readonly domain: string
  readonly passAt: number
  readonly minEndorsements: number
}

/**
 * By rubric: the agent answers in writing, and a judge applies criteria drawn from the answer that most readers
 * endorse.
 */
export function byRubric(row: RawRow, settings: RubricAt): NewDraft | Dropped {
  const question = readQuestion(row)
  const { id } = row
  if (question === null) return { drop: 'no-checkable-answer', detail: 'expected a question with an answer', id }
  const [best = question.answer, ...others] = ranked(question)
  const made = fromAnswer(question, best, settings)
  // An asker's own unsuitable answer must not hide a good one by someone else.
  const other = best.isOwn && 'drop' in made ? others.find(({ isOwn }) => !isOwn) : undefined
  const chosen = other === undefined ? made : fromAnswer(question, other, settings)
  return 'drop' in chosen ? { ...chosen, id } : chosen
}

function fromAnswer(
  question: Question,
  answer: PostAnswer,
  { domain, passAt, minEndorsements }: RubricAt,
): NewDraft | Unfit {
  const { title, body, day } = question
  const readers = readersOf(question, answer)
  if (readers < minEndorsements)
    return {
      drop: answer.isOwn ? 'answer-is-own' : 'answer-little-endorsed',
      detail: `${readers} readers stand behind it`,
    }
  // Readers discuss it, and the dump lacks what they say.
  if (answer.comments > readers)
    return { drop: 'answer-disputed', detail: `${answer.comments} remarks, ${readers} readers behind it` }
  const unfit = unfitness(question, answer)
  if (unfit) return unfit
  const criteria = criteriaOf(question, answer)
  if (criteria === null) return { drop: 'no-criteria', detail: 'expected an answer that says or names something new' }
  const reference = answer.body.slice(0, 20_000)
  return {
    instruction: `# ${title}\n\n${body}\n\n---\n\n${handIn(domain, day)}\n`,
    files: {
      'environment/Dockerfile': { data: 'FROM debian:12-slim\n\nWORKDIR /app\n' },
      'tests/test.sh': { data: collectResults([resultFile]) },
      [`tests/${judgeFileName}`]: rubricFile({ schema: 'judge/1', criteria, reference, passAt }),
      'solution/answer.md': { data: `${answer.body.trim()}\n` },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/answer.md" ${resultFile}\n` },
    },
  }
}

/** Askers who show what they want and accept code have run it: that counts as one more reader. */
function readersOf({ body, code }: Question, answer: PostAnswer): number {
  const { accepted, isOwn } = answer
  const couldCheck = accepted && !isOwn && code.length > 1 && answer.code.length > 0 && showsWanted.test(proseOf(body))
  return endorsements(answer) + (couldCheck ? 1 : 0)
}

const showsWanted =
  /\b(?:(?:expected|desired|wanted|required) (?:output|result|outcome)s?|(?:output|result)s? (?:should|must)|(?:should|must) look (?:like|as))\b/i

/** Answers with the most readers first; of two equal ones, the one not by the asker. */
function ranked(question: Question): readonly PostAnswer[] {
  const readers = new Map(answersOf(question).map((answer) => [answer, readersOf(question, answer)]))
  const most = [...readers].sort(([a, inA], [b, inB]) => inB - inA || Number(a.isOwn) - Number(b.isOwn))
  return most.map(([answer]) => answer)
}

function handIn(domain: string, day: string | null): string {
  const when = day === null ? '' : ` on ${day}`
  return `This was asked on ${domain}${when}. Answer it as an expert of that time would, in Markdown, and write the answer to \`${resultFile}\`. Say what the cause or the solution is, and give the exact commands, options or code where the question calls for them. The programs that the question is about need not be installed here. A reader judges this file alone.`
}

function rubricFile(rubric: RubricFile): DraftFile {
  return { data: `${JSON.stringify(rubric, null, 2)}\n` }
}
