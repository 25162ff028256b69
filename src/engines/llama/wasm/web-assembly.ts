/** Memory shared by threads. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

/** A compiled module that can be passed to threads. */
export type CompiledModule = object

interface WebAssemblyApi {
  readonly Memory: new (size: { initial: number; maximum: number; shared: true }) => SharedMemory
  readonly Module: new (bytes: Uint8Array) => CompiledModule
}

// Node has WebAssembly, but its types exist only in those for browsers.
const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly

/**
 * Memory with this many pages; null when the machine refuses that much. Pages that are never written take up no memory.
 */
export function allocate(pages: number): SharedMemory | null {
  try {
    return new api.Memory({ initial: pages, maximum: pages, shared: true })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

export function compile(bytes: Uint8Array): CompiledModule {
  return new api.Module(bytes)
}
