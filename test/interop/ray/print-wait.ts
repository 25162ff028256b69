// Prints the shell function with which a launch waits for its Ray cluster.
import { awaitRay } from '../../../src/run/launch/plan-server.ts'

console.log(awaitRay.join('\n'))
