import { BoundaryError } from '../../core/errors.ts'
import type { DownloadOptions } from '../../core/sandbox.ts'

/** The largest file `read` takes into memory. */
export const readLimitBytes = 512 * 2 ** 20

/** The default limit on the size of a directory that is copied out. */
const downloadLimitBytes = 2 ** 30

/** The default limit on its files, directories and links. */
const downloadLimitEntries = 200_000

/** Limits on what may be copied out. */
export function limitsOf({ limitBytes = downloadLimitBytes, limitEntries = downloadLimitEntries }: DownloadOptions) {
  return { limitBytes, limitEntries }
}

/** How an archive made inside is unpacked: entries that leave the tree are dropped, the rest stays as it was. */
export const fromInside = {
  links: 'inside',
  onRefused: 'drop',
  modes: 'kept',
  backslashes: 'keep',
  existing: 'merge',
} as const

/** Writes what it reads to the file `$1` with the mode `$2`. */
export const writeScript = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"'

/** The failure to copy a file in or out; trying again would not help. */
export function transferFailure(message: string, cause?: unknown): BoundaryError {
  return new BoundaryError('sandbox', message, { code: 'TransferError', retryable: false, cause })
}
