import type { ServerResponse } from 'node:http'

export function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(value))
}

/** An error in the provider's format. */
export function refuse(response: ServerResponse, statusCode: number, message: string, details: object = {}): void {
  response.statusCode = statusCode
  sendJson(response, { statusCode, message, ...details })
}
