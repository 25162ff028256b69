import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadTemplate, mcpText, parseSkill, skillsText } from './instruction.ts'

const dir = mkdtempSync(join(tmpdir(), 'template-'))

function template(text: string): (instruction: string) => string {
  const path = join(dir, 'template.txt')
  writeFileSync(path, text)
  return loadTemplate(path)
}

describe('a prompt template', () => {
  test('puts the instruction wherever it is named, as it is', () => {
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

  test('that is not there is told', () => {
    expect(() => loadTemplate(join(dir, 'nope'))).toThrow(/cannot read the prompt template/)
  })
})

test('MCP servers are told with what is needed to reach them', () => {
  expect(mcpText([])).toBe('')
  const text = mcpText([
    { name: 'a', transport: 'streamable-http', url: 'http://a/mcp', args: [] },
    { name: 'b', transport: 'stdio', command: 'run-b', args: ['--fast'] },
  ])
  expect(text).toMatch(/^MCP Servers:\n/)
  expect(text).toContain('- a (transport: streamable-http, url: http://a/mcp)')
  expect(text).toContain('- b (transport: stdio, command: run-b --fast)')
})

test('a skill is known by what stands at its top; others are none', () => {
  const skill = parseSkill('/s/a/SKILL.md', '---\nname: a\ndescription: "Does: a"\n---\n# A\n')
  expect(skill).toEqual({ name: 'a', description: 'Does: a', location: '/s/a/SKILL.md' })
  expect(skillsText([])).toBe('')
  expect(skillsText(skill ? [skill] : [])).toContain('<name>a</name>')
  for (const text of [
    '',
    '# A',
    '---\nname: a\n---\n',
    '---\n[\n---\n',
    '---\n- a\n---\n',
    '---\nname: a',
    '---\nname: 1\ndescription: 2\n---\n',
  ]) {
    expect(parseSkill('x', text)).toBeNull()
  }
})
