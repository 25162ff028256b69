import { expect, test } from 'vitest'
import { needs } from '../needs.ts'
import { shownObservation } from '../shown-observation.ts'
import { withSandboxes } from './kit.ts'
import { observationsOf, scriptedTurns } from './terminus-2-parity.ts'

withSandboxes(
  'what terminus-2 sends after each reply of a script',
  () => {
    test('is what the agent of Harbor sends, byte for byte, but for the wording of warnings', async () => {
      const replies = scriptedTurns.map(({ reply }) => reply)
      const ours = await observationsOf(replies)
      expect(replies).toHaveLength(26)
      expect(ours.map(shownObservation)).toEqual(scriptedTurns.map(({ observation }) => observation))
    })
  },
  needs('python3').meta.skipReason ?? null,
)
