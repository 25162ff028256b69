import { expect, test } from 'vitest'
import { listTaskItems, type TaskListRequest, type ViewTaskItem } from './view-tasks.ts'

const item = (name: string): ViewTaskItem => ({
  ...{ id: name, name, set: 'set', family: null, difficulty: null, begins: '', verdict: null, law: null, reason: null },
  ...{ trials: 0, mean: null },
})

test('an unknown sort key sorts by name, whatever it is called', () => {
  const all = { offset: 0, limit: 10, q: '', filter: '', descending: false, family: '', difficulty: '', check: '' }
  for (const sort of ['', 'nothing', 'hasOwnProperty', 'constructor', '__proto__']) {
    const request: TaskListRequest = { ...all, sort }
    expect(listTaskItems([item('b'), item('a')], request).items.map(({ name }) => name)).toEqual(['a', 'b'])
  }
})
