import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UserError } from '../../core/errors.ts'
import { Prompts } from './prompts.ts'

const folderWith = (files: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), 'prompts-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

describe('prompt templates', () => {
  test('of ours say the task and show the terminal, in both forms', () => {
    const prompts = Prompts.load()
    for (const name of ['first-json', 'first-xml'] as const) {
      const text = prompts.render(name, { instruction: 'Do {{ this }}.', terminal_state: 'SCREEN\n' })
      expect(text).toMatch(/\n\nTask Description:\nDo \{\{ this \}\}\.\n\nCurrent terminal state:\nSCREEN\n$/)
    }
  })

  test('of a folder take the place of ours, one by one, and have a digest of their own', () => {
    const folder = folderWith({ 'confirm-json.txt': 'Sure?\n{{terminal_state}}\n', 'README.md': '{{ what }}' })
    const prompts = Prompts.load({ folder })
    expect(prompts.render('confirm-json', { terminal_state: '$' })).toBe('Sure?\n$')
    expect(prompts.render('filtered')).toBe(Prompts.load().render('filtered'))
    expect(prompts.digest).not.toBe(Prompts.load().digest)
    expect(Prompts.load({ folder }).digest).toBe(prompts.digest)
  })

  test.each([
    ['an unknown name', { 'confirm.txt': 'x' }, /unknown prompt "confirm"/],
    [
      'an unknown placeholder',
      { 'handoff.txt': '{{ answers }} {{ question }}' },
      /unknown placeholder \{\{ question \}\}/,
    ],
    ['a missing placeholder', { 'first-xml.txt': '{{ instruction }}' }, /\{\{ terminal_state \}\} is missing/],
    ['a filter', { 'handoff.txt': '{{ answers | upper }}' }, /cannot use "\{\{ answers \| upper \}\}"/],
    ['a block', { 'filtered.txt': '{% if x %}' }, /cannot use "\{% if x %\}"/],
    ['no template at all', { 'notes.md': '' }, /expected prompt templates, found none/],
  ])('of a folder with %s are refused with a hint', (_, files, message) => {
    const load = () => Prompts.load({ folder: folderWith(files) })
    expect(load).toThrow(UserError)
    expect(load).toThrow(message)
  })

  test('of a Harbor are what its Python says they are', () => {
    const said = { version: '9.9', prompts: { handoff: ['Theirs: ', { placeholder: 'answers' }] } }
    const python = stub(`cat <<'END'\n${JSON.stringify(said)}\nEND`)
    expect(Prompts.load({ harbor: { python } }).render('handoff', { answers: 'A' })).toBe('Theirs: A')
    const folder = folderWith({ 'handoff.txt': 'Mine: {{ answers }}' })
    expect(Prompts.load({ harbor: { python }, folder }).render('handoff', { answers: 'A' })).toBe('Mine: A')
  })

  test.each([
    ['no Harbor', 'exit 1'],
    ['no such Python', null],
    ['something else to say', 'echo hello'],
  ])('of a Harbor are refused where there is %s', (_, script) => {
    const python = script === null ? '/no/such/python' : stub(script)
    expect(() => Prompts.load({ harbor: { python } })).toThrow(/^prompts=harbor: \S+ has no Harbor whose Terminus-2/)
  })

  test('of a Harbor that says something new are refused by name', () => {
    const said = { version: '9.9', prompts: { handoff: ['Theirs: ', { placeholder: 'mood' }] } }
    const python = stub(`cat <<'END'\n${JSON.stringify(said)}\nEND`)
    expect(() => Prompts.load({ harbor: { python } })).toThrow(
      /^Harbor 9\.9 of \S+: unknown placeholder \{\{ mood \}\}/,
    )
  })
})

/** A program in place of Python. */
function stub(script: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'python-')), 'python')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}
