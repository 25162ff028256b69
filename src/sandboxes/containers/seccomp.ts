import { join } from 'node:path'
import { z } from 'zod'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'

const ruleSchema = z.looseObject({
  names: z.array(z.string()),
  action: z.string(),
  args: z.array(z.unknown()).nullish(),
  includes: z.looseObject({ caps: z.array(z.string()).nullish() }).nullish(),
})
const profileSchema = z.looseObject({ syscalls: z.array(ruleSchema) })

/** Calls that make namespaces or mounts: a sandbox's programs do not need them, and they expose kernel bugs. */
const risky = new Set(
  'unshare setns mount umount umount2 pivot_root mount_setattr open_tree move_mount fsopen fsconfig fsmount fspick clone clone3'.split(
    ' ',
  ),
)
/** All flags of clone that make a namespace. */
const namespaceFlags = 0x7e020000
const noSuchCall = 38

/**
 * A profile in which those calls need a capability that sandboxes do not have; making threads and processes stays
 * allowed.
 */
export function tightenProfile(text: string): string {
  const profile = profileSchema.parse(readJson(text))
  const kept = profile.syscalls.flatMap((rule) => {
    const needsMore = (rule.includes?.caps?.length ?? 0) > 0
    if (rule.action !== 'SCMP_ACT_ALLOW' || needsMore) return [rule]
    const names = rule.names.filter((name) => !risky.has(name))
    return names.length > 0 ? [{ ...rule, names }] : []
  })
  const args = [{ index: 0, value: namespaceFlags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]
  const added = [
    { names: ['clone'], action: 'SCMP_ACT_ALLOW', args },
    // Its flags are behind a pointer; programs fall back to clone.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: noSuchCall },
  ]
  return JSON.stringify({ ...profile, syscalls: [...kept, ...added] })
}

/** Writes the tightened form of an engine's own profile where the engine can read it; null if the engine has none. */
export async function saveTightProfile(source: string, stateDir: string): Promise<string | null> {
  const text = await readTextIfExists(source)
  if (text === null) return null
  const path = join(stateDir, 'seccomp.json')
  await writeAtomic(path, tightenProfile(text))
  return path
}
