/** A fault in the next requests of a kind. */
export interface Fault {
  /** Matched against `POST /sandboxes`, or the name of a call. */
  readonly when: RegExp
  /** How many requests it affects. */
  times: number
  /** `drop`: the connection breaks. */
  readonly what:
    | 'drop'
    | { readonly delayMs: number }
    | { readonly answer: number; readonly message: string; readonly headers?: Record<string, string> }
  /** True: the request is carried out before its response is lost or replaced. */
  readonly late?: boolean
}

/** The faults a stand-in still has to deliver, consumed as requests arrive. */
export class Faults {
  private readonly list: Fault[] = []
  /** Every request so far. */
  readonly seen: string[] = []

  add(fault: Fault): void {
    this.list.push(fault)
  }

  take(request: string): Fault | undefined {
    this.seen.push(request)
    const fault = this.list.find(({ when, times }) => times > 0 && when.test(request))
    if (fault) fault.times--
    return fault
  }

  clear(): void {
    this.list.length = 0
  }
}
