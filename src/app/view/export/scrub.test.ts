import { homedir, tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { makeScrub } from './scrub.ts'

const secret = 'a-very-secret-value-4711'
const scrub = makeScrub(['/data/of-a-user/jobs/my-job'], { MY_API_KEY: secret, EDITOR: 'the-usual-editor' })

test('directories of the machine are cut from texts', () => {
  expect(scrub.text('see /data/of-a-user/jobs/my-job/trial/agent')).toBe('see my-job/trial/agent')
  expect(scrub.text(`in ${process.cwd()}/src/x.ts:3`)).toBe('in src/x.ts:3')
  expect(scrub.text(`${tmpdir()}/ot-agent-view-1/x y`)).toBe('…/x y')
  expect(scrub.text('cat /app/main.py /root/.bashrc')).toBe('cat /app/main.py /root/.bashrc')
  if (homedir().split('/').length > 2) expect(scrub.text(homedir())).toBe('.')
})

test('secrets are cut, by their shape and by the variables that hold them', () => {
  expect(scrub.text(`echo ${secret}`)).toBe('echo [secret]')
  expect(scrub.text(`hf_${'a1B2'.repeat(9)} the-usual-editor`)).toBe('[secret] the-usual-editor')
})

test('paths in records keep their last part only', () => {
  const record = { task: { path: '/somewhere/else/task-1' }, list: ['/a/b', 'plain/relative'], n: 1, none: null }
  expect(scrub.paths(record)).toEqual({
    task: { path: '…/task-1' },
    list: ['…/b', 'plain/relative'],
    n: 1,
    none: null,
  })
})
