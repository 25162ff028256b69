import { systemPath } from '../../lib/programs.ts'

/** The environment of every trusted program we start: nothing of the caller's own reaches it. */
export const cleanEnv = { PATH: systemPath }
