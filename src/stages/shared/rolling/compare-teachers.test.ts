import { expect, test } from 'vitest'
import { compareTeachers, type TeacherTrial, type Tried } from './compare-teachers.ts'
import { renderComparison } from './teacher-report.ts'

/** A teacher's trials: for each source, the rewards of its tasks in order. */
function teacher(name: string, rewards: Record<string, (number | null)[]>, more: Partial<TeacherTrial> = {}): Tried {
  const trials = Object.entries(rewards).flatMap(([source, values]) =>
    values.map((reward, i) => ({
      task: `${source}-${i}`,
      source,
      reward,
      turns: 10,
      tokens: 1000,
      costUsd: 0.5,
      ...more,
    })),
  )
  return { name, trials }
}

test('a z-score is the distance from the mean in deviations, and 0 where nothing differs', () => {
  const three = [teacher('a', { s: [0, 0] }), teacher('b', { s: [0, 1] }), teacher('c', { s: [1, 1] })]
  const zOf = (tried: Parameters<typeof compareTeachers>[0]) =>
    compareTeachers(tried).scores.map(({ meanZ }) => Number(meanZ?.toFixed(3)))
  expect(zOf(three)).toEqual([-1.225, 0, 1.225])
  expect(zOf([three[1]!, three[1]!])).toEqual([0, 0])
})

test('the mean z-score over sources decides, not the mean over tasks', () => {
  const many = teacher('many', { big: [1, 1, 1, 1, 1, 1, 1, 0], small: [0, 0] })
  const even = teacher('even', { big: [1, 1, 1, 1, 1, 1, 0, 0], small: [1, 0] })
  const last = teacher('last', { big: [0, 0, 0, 0, 0, 0, 0, 0], small: [0, 0] })
  const { scores, choice } = compareTeachers([many, even, last])
  expect(scores.map(({ success }) => success)).toEqual([0.7, 0.7, 0])
  expect(choice).toBe(1)
  expect(scores[2]?.meanZ).toBeLessThan(0)
  expect(scores[1]?.againstChoice).toBeNull()
  expect(scores[2]?.againstChoice).toMatchObject({ mean: -0.7, tasks: 10 })
})

test('an infrastructure failure is no failure of the teacher', () => {
  const unlucky = teacher('unlucky', { a: [1, null, null, null] })
  const poor = teacher('poor', { a: [1, 0, 0, 0] })
  const { scores, choice } = compareTeachers([poor, unlucky])
  expect(scores[1]).toMatchObject({ trials: 4, unscored: 3, success: 1, meanReward: 1 })
  expect(choice).toBe(1)
})

test('among equals the cheaper is chosen, then the first; a teacher never scored is not chosen', () => {
  const [dear, cheap, broken] = [
    teacher('dear', { a: [1, 0] }),
    teacher('cheap', { a: [0, 1] }, { costUsd: 0.1 }),
    teacher('broken', { a: [null, null] }),
  ]
  expect(compareTeachers([dear!, cheap!, broken!])).toMatchObject({ choice: 1, agreement: 0 })
  expect(compareTeachers([dear!, dear!])).toMatchObject({ choice: 0, agreement: 1 })
  expect(compareTeachers([broken!, broken!])).toMatchObject({ choice: null, agreement: null })
})

test('the report names the rule, the choice, and the teachers not distinguishable from it', () => {
  const tried = [
    teacher('a|b', { x: [1, 1, 0, 1, 1, 1, 1, 1] }),
    teacher('close', { x: [1, 0, 1, 1, 1, 1, 1, 1] }),
    teacher('far', { x: [0, 0, 0, 0, 0, 0, 0, 0] }),
    teacher('unknown', { x: [0] }),
  ]
  const text = renderComparison(compareTeachers(tried), { tasks: 8, attempts: 1 })
  expect(text).toContain('| a\\|b | 8 | 0 | 87.5 % |')
  expect(text).toContain('Chosen: a|b.')
  expect(text).toMatch(/Not distinguishable from the choice by this sample: close, unknown\.\n/)
})
