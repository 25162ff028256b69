import { BoundaryError } from '../../core/errors.ts'
import type { DownloadOptions } from '../../core/sandbox.ts'

/** The largest file `read` takes into memory. */
export const readLimitBytes = 512 * 2 ** 20

/** How much a directory may hold that is copied out, by default. */
const downloadLimitBytes = 2 ** 30

/** The same in files, directories and links. */
const downloadLimitEntries = 200_000

/** How much of what is inside may arrive. */
export function limitsOf({ limitBytes = downloadLimitBytes, limitEntries = downloadLimitEntries }: DownloadOptions) {
  return { limitBytes, limitEntries }
}

/** How an archive made inside is unpacked: what leaves the tree is dropped, the rest kept as it was. */
export const fromInside = {
  links: 'inside',
  onRefused: 'drop',
  modes: 'kept',
  backslashes: 'keep',
  existing: 'merge',
} as const

/** Writes what it reads to the file `$1` with the mode `$2`. */
export const writeScript = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"'

/** A file that could not be carried in or out: trying again would not help. */
export function transferFailure(message: string, cause?: unknown): BoundaryError {
  return new BoundaryError('sandbox', message, { code: 'TransferError', retryable: false, cause })
}
