import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../../../../test/needs.ts'
import { findStubsScript, mayAskForBodies, shallowBodies, stubsAskedFor } from './shallow-bodies.ts'

const source = `import abc

def todo(a, b):
    """Adds,
not indented."""
    raise NotImplementedError(
        "add"
    )

def short(x): pass

def only_words(x):
    'Doubles x.'

async def later():
    # TODO: write it
    return None

def done(x):
    return None

class Shape(abc.ABC):
    def area(self, unit="é", *rest):
        ...

    @staticmethod
    def named(name):
        pass

    @abc.abstractmethod
    def other(self):
        pass

class Plain:
    def area(self, *sizes, **options):
        return ("plain", *sizes)

class Round(Plain):
    def area(self, width, *rest, unit=None, **options):
        "Of a circle."
        raise NotImplementedError
`

describe('bodies of functions', needs('python3'), () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'ot-agent-bodies-')))
  const path = join(dir, 'it is.py')
  writeFileSync(path, source)
  writeFileSync(join(dir, 'broken.py'), 'def (:\n')
  const lines = execFileSync('bash', ['-c', findStubsScript], { cwd: dir, encoding: 'utf8' }).split('\n')
  const stubs = stubsAskedFor(lines, 'Implement all of it.')

  test('functions without a body are found, with their first argument; abstract and finished ones are not', () => {
    expect(stubs.map(({ name, argument }) => `${name} ${argument}`)).toEqual([
      'todo a',
      'short x',
      'only_words x',
      'later ',
      'area unit',
      'named name',
      'area width',
    ])
    expect(stubs.map(({ above }) => above).filter(Boolean)).toEqual([
      'area(unit, *rest)',
      'area(width, *rest, unit=unit, **options)',
    ])
  })

  test('each solution gives all of them one body, in a file that stays Python', () => {
    const run = (name: string, call: string) => {
      writeFileSync(path, source)
      const solution = shallowBodies(stubs).find((it) => it.name.endsWith(name))
      execFileSync('bash', ['-c', solution?.script ?? ''])
      const program = `${readFileSync(path, 'utf8')}\nimport asyncio\nprint((${call}))\n`
      return execFileSync('python3', ['-c', program], { encoding: 'utf8' }).trim()
    }
    const all =
      'todo(7, 8), short(7), only_words(7), asyncio.run(later()), done(7), Shape.area(None, 7), Shape.named(7)'
    expect(run('return []', all)).toBe('([], [], [], [], None, [], [])')
    expect(run('return the first argument', all)).toBe('(7, 7, 7, None, None, 7, 7)')
    expect(run('what the class above does', 'todo(7, 8), Shape.named(7), Round().area(2, 3)')).toBe(
      "(None, None, ('plain', 2, 3))",
    )
    expect(run("return ''", 'todo(7, 8), Shape.named(7)')).toBe("('', '')")
  })

  test('functions that the instruction names are filled in, all if it names none, none if it asks for something else', () => {
    const asked = (instruction: string) => stubsAskedFor(lines, instruction).map(({ name }) => name)
    expect(asked('`short` lacks its body. Implement it.')).toEqual(['short'])
    expect(asked('Fill in what is TODO.')).toHaveLength(7)
    expect(asked('The function `done` in shapes.py gives the wrong result.')).toEqual([])
  })
})

test('only instructions about code make the check look for such functions', () => {
  expect(['Count the lines of /app/poem.txt.', 'Repair /app/sum.py.'].map(mayAskForBodies)).toEqual([false, true])
})
