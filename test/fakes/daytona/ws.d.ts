/** The part of the package that the stand-in uses; it ships no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events'
  import type { IncomingMessage } from 'node:http'
  import type { Duplex } from 'node:stream'

  export class WebSocket extends EventEmitter {
    constructor(address: string, options?: { maxPayload?: number })
    send(data: string | Uint8Array): void
    close(code?: number): void
    terminate(): void
  }

  export class WebSocketServer {
    constructor(options: { noServer: true; handleProtocols: (offered: Set<string>) => string | false })
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, done: (opened: WebSocket) => void): void
    close(): void
  }
}
