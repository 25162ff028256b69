/** A shared opening must be at least as long as a few sentences. */
const leastChars = 80
const mostKnown = 16

export interface OwnPart {
  /** The row's number. */
  readonly row: number
  readonly own: string
}

/** Finds openings that many questions share, such as an agent's instructions, so that a list can show what follows. */
export class SharedOpenings {
  private readonly known: string[] = []
  private last: { readonly row: number; readonly question: string } | null = null

  /**
   * Returns the part of a question after its shared opening, preceded by that of an earlier question if this one
   * reveals a shared opening.
   */
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

/** The leading lines both texts share; none if one of the texts ends there. */
function sharedLines(one: string, other: string): string {
  const most = Math.min(one.length, other.length)
  let same = 0
  while (same < most && one[same] === other[same]) same++
  return same === most ? '' : one.slice(0, one.lastIndexOf('\n', same - 1) + 1)
}
