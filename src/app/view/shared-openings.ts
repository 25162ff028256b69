/** An opening counts when it is at least as long as a few sentences. */
const leastChars = 80
const mostKnown = 16

export interface OwnPart {
  /** The number of the row. */
  readonly row: number
  readonly own: string
}

/** Finds what many questions begin with, such as the instructions of an agent, so that a list can show what comes after it. */
export class SharedOpenings {
  private readonly known: string[] = []
  private last: { readonly row: number; readonly question: string } | null = null

  /** The part of a question that is its own, and before it that of an earlier question whose opening was found only now. */
  take(row: number, question: string): OwnPart[] {
    const own = this.ownPart(question)
    if (own !== null) return [{ row, own }]
    const { last } = this
    this.last = { row, question }
    const opening = last === null ? '' : sharedLines(last.question, question)
    if (last === null || opening.length < leastChars || this.known.length >= mostKnown) return [{ row, own: question }]
    this.known.push(opening)
    this.last = null
    return [last, { row, question }].map((each) => ({ row: each.row, own: each.question.slice(opening.length) }))
  }

  private ownPart(question: string): string | null {
    const openings = this.known.filter((opening) => question.startsWith(opening)).map(({ length }) => length)
    return openings.length === 0 ? null : question.slice(Math.min(...openings))
  }
}

/** The whole lines with which both texts begin; nothing when one of them ends there. */
function sharedLines(one: string, other: string): string {
  const most = Math.min(one.length, other.length)
  let same = 0
  while (same < most && one[same] === other[same]) same++
  return same === most ? '' : one.slice(0, one.lastIndexOf('\n', same - 1) + 1)
}
