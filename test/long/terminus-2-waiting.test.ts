import { expect, test } from 'vitest'
import { withSandboxes } from '../e2e/kit.ts'
import { observationsOf, scriptedTurns } from '../e2e/terminus-2-parity.ts'
import { needs } from '../needs.ts'

withSandboxes(
  'a wait that ends when the shell is idle',
  () => {
    test('shows what waiting all the time shows: at a prompt nothing more comes, and other programs get all their time', async () => {
      const replies = scriptedTurns.map(({ reply }) => reply)
      const shown = (all: readonly string[]) => all.map((text) => text.replace(/\d\d:\d\d/g, 'TIME'))
      const idle = await observationsOf(replies)
      const full = await observationsOf(replies, { wait: 'full' })
      expect(full).toHaveLength(26)
      expect(shown(idle)).toEqual(shown(full))
    })
  },
  needs('python3').meta.skipReason ?? null,
)
