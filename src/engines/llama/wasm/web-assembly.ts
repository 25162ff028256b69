/** Memory that threads share. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

/** A compiled module, as threads take it. */
export type CompiledModule = object

interface WebAssemblyApi {
  readonly Memory: new (size: { initial: number; maximum: number; shared: true }) => SharedMemory
  readonly Module: new (bytes: Uint8Array) => CompiledModule
}

// Node has it, and its types are part of those for browsers only.
const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly

/** Memory of this many pages; null when the machine refuses that much. Pages that are never written take no room. */
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
