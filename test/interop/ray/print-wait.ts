// Prints the shell function that a launch uses to wait for its Ray cluster.
import { awaitRay } from '../../../src/run/launch/plan-server.ts'

console.log(awaitRay.join('\n'))
