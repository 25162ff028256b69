import { fileURLToPath } from 'node:url'

/** The directory of this package, the same seen from the sources as from what is built of them. */
export const packageRoot = fileURLToPath(new URL('../..', import.meta.url))
