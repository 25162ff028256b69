import { Worker } from 'node:worker_threads'
import type { CompiledModule, SharedMemory } from './wasm/web-assembly.ts'

/** A thread that computes the steps of a model. */
export interface Lane {
  /** Computes the rows that were written into the lane's part of the memory. One step at a time. */
  step(rows: number, wanted: number): Promise<void>
}

export interface LaneSettings {
  readonly module: CompiledModule
  readonly memory: SharedMemory
  /** Where the lane's part of the memory begins. */
  readonly at: number
}

/**
 * All that the thread does itself; the rest is in the module. Kept as text, so that it runs both from the sources and
 * from the build.
 */
const program = `
const { parentPort, workerData: { module, memory, at } } = require('node:worker_threads')
const { forward } = new WebAssembly.Instance(module, { env: { memory } }).exports
parentPort.on('message', ({ rows, wanted }) => {
  forward(at, rows, wanted)
  parentPort.postMessage(null)
})`

/** Makes a lane. Its thread starts with the first step and does not keep the program alive between steps. */
export function makeLane(settings: LaneSettings): Lane {
  let worker: Worker | null = null
  let current: { done(): void; failed(error: Error): void } | null = null
  const start = () => {
    const made = new Worker(program, { eval: true, workerData: settings, env: {}, stdin: false })
    // A dead thread reports twice, and the next step may have started another by then.
    const ended = (error: Error) => {
      if (worker !== made) return
      worker = null
      current?.failed(error)
    }
    made.on('message', () => current?.done())
    made.on('error', (error) => ended(error instanceof Error ? error : new Error(String(error))))
    made.on('exit', (code) => ended(new Error(`the thread of the model ended with ${code}`)))
    return made
  }
  return {
    async step(rows, wanted) {
      worker ??= start()
      const running = worker
      running.ref()
      try {
        await new Promise<void>((done, failed) => {
          current = { done, failed }
          running.postMessage({ rows, wanted })
        })
      } finally {
        current = null
        running.unref()
      }
    },
  }
}
