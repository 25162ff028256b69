import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import type { Rewards } from '../../core/rewards.ts'
import { describeSystem, settleSystems, type Verified } from './two-systems.ts'

const restored = { files: [{ path: '/bin/bash', change: 'modified' as const }], total: 1 }
const gave = (rewards: Rewards): Verified => ({ rewards, bothRewardFiles: false, isolation: 'fresh' })
const nothing = new BoundaryError('verifier', 'no reward')
const settle = (image: Verified | BoundaryError, agent: Verified | BoundaryError) => {
  const { rewards, system } = settleSystems(restored, image, agent)
  return { rewards, differ: system?.differ }
}

test('equal rewards on both systems count as they are', () => {
  expect(settle(gave({ reward: 1 }), gave({ reward: 1 }))).toEqual({ rewards: { reward: 1 }, differ: false })
  const [a, b] = [gave({ reward: 1, seconds: 3 }), gave({ reward: 1, seconds: 4 })]
  expect(settle(a, b)).toEqual({ rewards: { reward: 1, seconds: 3 }, differ: false })
})

test('when rewards differ, the lower one counts, in both directions', () => {
  expect(settle(gave({ reward: 0 }), gave({ reward: 1 }))).toEqual({ rewards: { reward: 0 }, differ: true })
  expect(settle(gave({ reward: 1 }), gave({ reward: 0.5 }))).toEqual({ rewards: { reward: 0.5 }, differ: true })
  expect(settle(gave({ a: 1, b: 0 }), gave({ a: 1, b: 1 }))).toEqual({ rewards: { a: 1, b: 0 }, differ: true })
})

test('rewards that differ are never a full one', () => {
  expect(settle(gave({ reward: 1 }), gave({ reward: 2 }))).toEqual({ rewards: { reward: 0 }, differ: true })
  expect(settle(gave({ reward: 1 }), gave({ other: 1 }))).toEqual({ rewards: { reward: 0 }, differ: true })
})

test('tests that give nothing on one of the systems give 0 there; on both they have failed', () => {
  expect(settle(nothing, gave({ reward: 1 }))).toEqual({ rewards: { reward: 0 }, differ: true })
  expect(settle(gave({ reward: 1 }), nothing)).toEqual({ rewards: { reward: 0 }, differ: true })
  expect(settle(gave({ reward: -1 }), nothing)).toEqual({ rewards: { reward: -1 }, differ: true })
  expect(() => settle(nothing, new BoundaryError('verifier', 'another'))).toThrow(nothing)
})

test('a report in words names the files and what the tests gave', () => {
  expect(describeSystem({ restored, onImage: { reward: 0 }, onAgent: { reward: 1 }, differ: true })).toBe(
    'the agent changed system files: /bin/bash (modified); the tests gave {"reward":0} on the image’s and {"reward":1} on the agent’s',
  )
})
