import { expect, test } from 'vitest'
import { mcpText, parseSkill, skillsText } from './instruction-text.ts'

test('MCP servers are listed with what is needed to reach them', () => {
  expect(mcpText([])).toBe('')
  const text = mcpText([
    { name: 'a', transport: 'streamable-http', url: 'http://a/mcp', args: [] },
    { name: 'b', transport: 'stdio', command: 'run-b', args: ['--fast'] },
  ])
  expect(text).toMatch(/^MCP Servers:\n/)
  expect(text).toContain('- a (transport: streamable-http, url: http://a/mcp)')
  expect(text).toContain('- b (transport: stdio, command: run-b --fast)')
})

test('a skill is recognised by its header; other files are not skills', () => {
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
