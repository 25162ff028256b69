import { fileURLToPath } from 'node:url'

/** The directory of this package, the same from its sources and from its build. */
export const packageRoot = fileURLToPath(new URL('../..', import.meta.url))
