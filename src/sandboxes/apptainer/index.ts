import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { withAllowlist } from '../namespaces/allowlist.ts'
import { makeApptainer } from './provider.ts'

/** Sandboxes for clusters that forbid Docker: Apptainer (formerly Singularity), which has no daemon. */
export default definePlugin({
  name: 'apptainer',
  summary: 'Apptainer or Singularity instances, for clusters; no daemon',
  options: z.strictObject({
    program: z.string().optional().describe('program to use instead of apptainer or singularity from the PATH'),
    image: z
      .string()
      .optional()
      .describe('image for tasks that set none: a .sif file, a directory or the name of an image'),
    pids: z.number().int().positive().default(1024).describe('maximum number of processes in a sandbox'),
  }),
  make: (options, context) => withAllowlist(makeApptainer(options, context)),
})
