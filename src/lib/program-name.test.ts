import { expect, test } from 'vitest'
import { programName } from './program-name.ts'

const path = '/usr/local/bin:/usr/bin'

test.each([
  ['the file of a checkout', '/src/ot-agent/ot-agent', '/src/ot-agent', './ot-agent'],
  ['its program, as npm run demo starts it', '/src/ot-agent/bin/ot-agent.js', '/src/ot-agent', './ot-agent'],
  ['a checkout, from a project beside it', '/src/ot-agent/ot-agent', '/src/project', '/src/ot-agent/ot-agent'],
  ['a checkout below the working directory', '/src/ot-agent/ot-agent', '/src', './ot-agent/ot-agent'],
  ['a checkout in a folder with a space', '/my src/bin/ot-agent.js', '/', `'./my src/ot-agent'`],
  ['a project that has the package', '/project/node_modules/.bin/ot-agent', '/project', 'npx ot-agent'],
  ['the cache of npx', '/home/me/.npm/_npx/0a/node_modules/.bin/ot-agent', '/project', 'npx ot-agent'],
  ['the installed program', '/project/node_modules/ot-agent/bin/ot-agent.js', '/project', 'npx ot-agent'],
  ['a global install', '/usr/local/bin/ot-agent', '/project', 'ot-agent'],
  ['a checkout on the PATH', '/usr/local/bin/bin/ot-agent.js', '/project', 'ot-agent'],
  ['a program of a user of the library', '/project/mine.ts', '/project', 'npx ot-agent'],
])('the name to type for %s', (_, script, cwd, name) => {
  expect(programName({ script, cwd, path })).toBe(name)
})

test('the folder that npx puts on the PATH is not there for the next command', () => {
  const script = '/project/node_modules/.bin/ot-agent'
  expect(programName({ script, cwd: '/project', path: `/project/node_modules/.bin:${path}` })).toBe('npx ot-agent')
})
