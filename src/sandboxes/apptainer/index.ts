import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { withAllowlist } from '../namespaces/allowlist.ts'
import { makeApptainer } from './provider.ts'

/** Sandboxes for clusters that forbid Docker: Apptainer (formerly Singularity), which has no daemon. */
export default definePlugin({
  name: 'apptainer',
  summary: 'Apptainer or Singularity instances, for clusters; no daemon',
  options: z.strictObject({
    program: z.string().optional().describe('which program to use instead of apptainer or singularity on the path'),
    image: z.string().optional().describe('a .sif file, a directory or an image’s name for tasks that name none'),
    pids: z.number().int().positive().default(1024).describe('how many processes a sandbox may have'),
  }),
  make: (options, context) => withAllowlist(makeApptainer(options, context)),
})
