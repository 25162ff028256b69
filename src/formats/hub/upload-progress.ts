/** An upload's progress. */
export interface UploadProgress {
  readonly done: { readonly files: number; readonly bytes: number }
  readonly total: { readonly files: number; readonly bytes: number }
}

interface Sent {
  readonly path: string
  readonly bytes: number
}

/** Adds up the progress of an upload's files. Small ones are sent with the commit, and count once it is made. */
export function followFiles(add: readonly Sent[], onProgress: (progress: UploadProgress) => void) {
  const sizes = new Map(add.map(({ path, bytes }) => [path, bytes]))
  const shares = new Map<string, number>()
  const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0)
  const total = { files: add.length, bytes: sum(sizes.values()) }
  const tell = () => {
    const files = [...shares.values()].filter((share) => share >= 1).length
    const bytes = sum([...shares].map(([path, share]) => share * (sizes.get(path) ?? 0)))
    onProgress({ done: { files, bytes }, total })
  }
  return {
    sending: (path: string, share: number) => {
      shares.set(path, share)
      tell()
    },
    sent: (files: readonly Sent[]) => {
      for (const { path } of files) shares.set(path, 1)
      tell()
    },
  }
}
