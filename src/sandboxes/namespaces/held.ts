import { PassThrough, type Readable } from 'node:stream'

/**
 * A child's output for a reader who comes later. Once a child has exited, Node throws away what is not read,
 * so that a quick child's output would be lost to a reader who first makes a directory.
 */
export function held(output: Readable): Readable {
  return output.pipe(new PassThrough())
}
