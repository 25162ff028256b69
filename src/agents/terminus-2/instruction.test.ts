import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadTemplate } from './instruction.ts'

const dir = mkdtempSync(join(tmpdir(), 'template-'))

function template(text: string): (instruction: string) => string {
  const path = join(dir, 'template.txt')
  writeFileSync(path, text)
  return loadTemplate(path)
}

describe('a prompt template', () => {
  test('inserts the instruction unchanged wherever it is named', () => {
    expect(template('Do: {{ instruction }}\nAgain: {{instruction}}\n')('cost $& {{ x }}')).toBe(
      'Do: cost $& {{ x }}\nAgain: cost $& {{ x }}',
    )
  })

  test.each([
    ['Do it', /without \{\{ instruction \}\}/],
    ['{{ instruction }} {{ model }}', /cannot use "\{\{ model \}\}"/],
    ['{{ instruction | upper }}', /cannot use/],
    ['{% if x %}{{ instruction }}{% endif %}', /cannot use "\{% if x %\}/],
    ['{# note #}{{ instruction }}', /cannot use/],
  ])('refuses %j', (text, message) => {
    expect(() => template(text)).toThrow(message)
  })

  test('that is missing is reported', () => {
    expect(() => loadTemplate(join(dir, 'nope'))).toThrow(/cannot read the prompt template/)
  })
})
