import { expect, test } from 'vitest'
import { tightenProfile } from './seccomp.ts'

const rules = (text: string) => JSON.parse(text).syscalls

test('calls that make namespaces or mounts are taken out of what everyone may do, others stay', () => {
  const profile = {
    defaultAction: 'SCMP_ACT_ERRNO',
    syscalls: [
      { names: ['read', 'unshare', 'mount', 'clone'], action: 'SCMP_ACT_ALLOW', args: [], includes: {} },
      { names: ['mount'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_ADMIN'] } },
      { names: ['setns'], action: 'SCMP_ACT_ALLOW' },
    ],
  }
  const tight = tightenProfile(JSON.stringify(profile))
  const forAll = rules(tight).filter((rule: { includes?: { caps?: string[] } }) => !rule.includes?.caps)
  expect(forAll.flatMap((rule: { names: string[] }) => rule.names)).toEqual(['read', 'clone', 'clone3'])
  expect(rules(tight)).toContainEqual(profile.syscalls[1])
  expect(JSON.parse(tight).defaultAction).toBe('SCMP_ACT_ERRNO')
})
