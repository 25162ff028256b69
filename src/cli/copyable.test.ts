import { expect, test } from 'vitest'
import { commands } from './commands.ts'
import { copyable, firstWords } from './copyable.ts'

test('every command is known by its first word', () => expect(firstWords).toEqual(Object.keys(commands)))

test.each([
  ['ot-agent jobs list shows them', 'npx ot-agent jobs list shows them'],
  ['run ot-agent benchmarks fetch x, then ot-agent run', 'run npx ot-agent benchmarks fetch x, then npx ot-agent run'],
  ['`ot-agent tasks pack` writes it', '`npx ot-agent tasks pack` writes it'],
  ['npx ot-agent view', 'npx ot-agent view'],
  ['this version of ot-agent does not know it', 'this version of ot-agent does not know it'],
  ['ot-agent runs as root', 'ot-agent runs as root'],
  ['/home/my-ot-agent run/x', '/home/my-ot-agent run/x'],
])('%s', (text, shown) => expect(copyable(text)).toBe(shown))
