import type { ServerResponse } from 'node:http'
import type { CallOptions } from '../../../core/model.ts'
import type { ServiceAnswer } from '../../../formats/dialect-server/model-service.ts'
import {
  renderEvent,
  type ServedCall,
  type ServerDialect,
  type Stamp,
  type StreamWriter,
  type WireEvent,
} from '../../../formats/dialect-server/server-dialect.ts'

/** An answer that is streamed while the model is still generating. */
export interface LiveAnswer {
  readonly hearing: Pick<CallOptions, 'onText' | 'onReasoning'>
  /**
   * Ends a stream that has begun; false when nothing was sent yet, so that the answer can still be sent in one piece.
   */
  end(answer: ServiceAnswer): boolean
}

/** Starts to stream an answer as soon as there is something to send, if the caller asked for a stream. */
export function makeLiveAnswer(
  response: ServerResponse,
  dialect: ServerDialect,
  call: ServedCall,
  stamp: Stamp,
): LiveAnswer {
  if (!call.stream) return { hearing: {}, end: () => false }
  let writer: StreamWriter | null = null
  let isHeld = false
  const send = (events: readonly WireEvent[]) => {
    if (!response.destroyed && events.length > 0) response.write(events.map(renderEvent).join(''))
  }
  const begun = (): StreamWriter => {
    if (writer) return writer
    writer = dialect.makeStream(call, stamp)
    if (!response.headersSent && !response.destroyed) response.writeHead(200, streamHeaders)
    send(writer.start(null))
    return writer
  }
  return {
    hearing: {
      onText: (piece) => void (isHeld || send(begun().text(piece))),
      onReasoning: (piece) => {
        // Once a thought must wait for its end, everything after it waits too.
        isHeld ||= !dialect.streamsThoughts
        if (!isHeld) send(begun().reasoning(piece))
      },
    },
    end(answer) {
      if (writer === null) return false
      if (answer.kind === 'reply') send(writer.end(answer.reply))
      else if (answer.kind === 'fault') send([dialect.faultEvent(answer.fault)])
      if (answer.kind === 'reply' || answer.kind === 'fault') response.end()
      else response.destroy()
      return true
    },
  }
}

export const streamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
