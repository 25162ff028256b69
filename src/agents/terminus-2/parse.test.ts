import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonDialect, parseJsonReply } from './parse-json.ts'
import { parseXmlReply, xmlDialect } from './parse-xml.ts'
import { listed } from './parsed.ts'

const fields = { analysis: 'a', plan: 'p', commands: [{ keystrokes: 'ls\n', duration: 0.5 }] }
const json = (changes: object = {}) => JSON.stringify({ ...fields, ...changes })
const command = { keystrokes: 'ls\n', durationSec: 0.5 }
const good = { analysis: 'a', plan: 'p', commands: [command], isComplete: false, error: '', warnings: [] }

describe('a JSON reply', () => {
  test('is read', () => {
    expect(parseJsonReply(json())).toEqual(good)
    expect(parseJsonReply(json({ task_complete: true }))).toEqual({ ...good, isComplete: true })
  })

  test.each<[string, string, RegExp]>([
    ['text before', `Sure!\n${json()}`, /before the JSON object/],
    ['text after', `${json()}\nDone.`, /after the JSON object/],
    ['fields out of order', JSON.stringify({ plan: 'p', analysis: 'a', commands: fields.commands }), /out of order/],
    ['an analysis that is no text', json({ analysis: ['x'] }), /'analysis' should be a string/],
    ['a plan that is null', json({ plan: null }), /'plan' should be a string/],
    ['an odd task_complete', json({ task_complete: 7 }), /task_complete/],
    ['no duration', json({ commands: [{ keystrokes: 'x\n' }] }), /has no duration; 1\.0 was used/],
    ['a duration in words', json({ commands: [{ keystrokes: 'x\n', duration: 'long' }] }), /no number; 1\.0/],
    ['unknown fields', json({ commands: [{ keystrokes: 'x\n', duration: 1, why: 1 }] }), /mean nothing: why/],
    [
      'two commands on one line',
      json({
        commands: [
          { keystrokes: 'x', duration: 1 },
          { keystrokes: 'y', duration: 1 },
        ],
      }),
      /Command 1 does not end/,
    ],
  ])('with %s is read with a warning', (_, reply, warning) => {
    const parsed = parseJsonReply(reply)
    expect(parsed.error).toBe('')
    expect(parsed.warnings).toEqual([expect.stringMatching(warning)])
  })

  test.each(['true', 'YES', '1'])('with task_complete %j is complete', (said) => {
    expect(parseJsonReply(json({ task_complete: said }))).toMatchObject({
      isComplete: true,
      warnings: [],
    })
  })

  test.each<[string, string, string | RegExp]>([
    ['nothing', '', 'No valid JSON found in response'],
    ['words only', 'I will list files.', 'No valid JSON found in response'],
    ['bad JSON', "{'analysis': 1}", /^Invalid JSON: .* \| Content: "/],
    ['long bad JSON', `{bad ${'x'.repeat(200)}}`, /^Invalid JSON: .* \| Content preview: ".{100,}"\.\.\.$/],
    ['a raw line break in a string', json().replace('"a"', '"a\nb"'), /^Invalid JSON/],
    ['missing fields', '{"analysis": "a"}', 'Missing required fields: plan, commands'],
    ['commands that are no list', json({ commands: 'ls' }), "Field 'commands' must be an array"],
    ['a command that is no object', json({ commands: ['ls'] }), 'Command 1 must be an object'],
    [
      'a command without keys',
      json({ commands: [fields.commands[0], {}] }),
      "Command 2 missing required 'keystrokes' field",
    ],
    ['keys that are no text', json({ commands: [{ keystrokes: 1 }] }), "Command 1 'keystrokes' must be a string"],
  ])('of %s is an error', (_, reply, error) => {
    const parsed = parseJsonReply(reply)
    expect(parsed.error).toMatch(error)
    expect(parsed.commands).toEqual([])
  })

  test('whose task is complete is taken in spite of a bad command', () => {
    const parsed = parseJsonReply(json({ commands: ['ls'], task_complete: true }))
    expect(parsed).toMatchObject({ error: '', isComplete: true, commands: [] })
    expect(parsed.warnings).toEqual(['Command 1 must be an object'])
  })

  test('that lacks its last braces is corrected', () => {
    const parsed = parseJsonReply(json().slice(0, -1))
    expect(parsed).toMatchObject({ error: '', commands: [command] })
    expect(listed(parsed.warnings)).toMatch(/^- AUTO-CORRECTED: .* - please fix this in future responses$/)
  })

  test('inside text with braces of its own is found', () => {
    const parsed = parseJsonReply(`Use {this}: ${json()}`)
    expect(parsed).toMatchObject({ error: '', commands: [command] })
    expect(parsed.warnings[0]).toMatch(/^AUTO-CORRECTED: took the JSON object out/)
  })

  test('with braces and quotes in its keystrokes is read to its end', () => {
    const keystrokes = 'echo "}" \'{\' \\\n'
    expect(parseJsonReply(json({ commands: [{ keystrokes, duration: 1 }] })).commands[0]?.keystrokes).toBe(keystrokes)
  })

  test('that was cut after its end is whole, one cut before is not', () => {
    expect(jsonDialect.isWhole(`${json()}\nand then`)).toBe(true)
    expect(jsonDialect.isWhole(json().slice(0, -1))).toBe(false)
  })

  test('of any text is read or refused, never thrown', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseJsonReply(`{${text}`)))
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const parsed = parseJsonReply(JSON.stringify({ ...fields, analysis: value }))
        expect(parsed.error).toBe('')
      }),
    )
  })
})

const sections = '<analysis>a</analysis><plan>p</plan>'
const keys = '<commands><keystrokes duration="0.5">ls\n</keystrokes></commands>'
const xml = (body = sections + keys) => `<response>${body}</response>`

describe('an XML reply', () => {
  test('is read', () => {
    expect(parseXmlReply(xml())).toEqual(good)
    expect(parseXmlReply(xml(`${sections}${keys}<task_complete>true</task_complete>`))).toEqual({
      ...good,
      isComplete: true,
    })
  })

  test.each<[string, string, RegExp]>([
    ['text before', `Hm. ${xml()}`, /before <response>/],
    ['text after', `${xml()} Done.`, /after <\/response>/],
    ['no analysis', xml(`<plan>p</plan>${keys}`), /No <analysis> section/],
    ['no plan', xml(`<analysis>a</analysis>${keys}`), /No <plan> section/],
    ['an unknown tag', xml(`${sections}<mood>good</mood>${keys}`), /Unknown tag <mood>/],
    ['two plans', xml(`${sections}<plan>q</plan>${keys}`), /More than one <plan>/],
    ['sections out of order', xml(`${keys}${sections}`), /out of order/],
    ['a single-quoted attribute', xml(sections + keys.replace('"0.5"', "'0.5'")), /double quotes/],
    ['an unknown attribute', xml(sections + keys.replace('duration=', 'wait="1" duration=')), /means nothing: wait/],
    ['no duration', xml(sections + keys.replace(' duration="0.5"', '')), /no duration; 1\.0/],
    ['a duration in words', xml(sections + keys.replace('0.5', 'long')), /no number; 1\.0/],
    ['entities', xml(sections + keys.replace('ls', 'a &amp;&amp; b')), /entity &amp; is typed/],
    ['line ends of another system', xml(sections + keys.replace('ls\n', 'ls\\r\\n\n')), /\\r\\n/],
    ['no commands', xml(`${sections}<commands></commands>`), /No commands/],
    ['text between commands', xml(sections + keys.replace('<commands>', '<commands>ls ')), /outside of <keystrokes>/],
  ])('with %s is read with a warning', (_, reply, warning) => {
    const parsed = parseXmlReply(reply)
    expect(parsed.error).toBe('')
    expect(parsed.warnings).toEqual([expect.stringMatching(warning)])
  })

  test.each([
    ['no end', xml().replace('</response>', '')],
    ['an odd task_complete', xml(`${sections}${keys}<task_complete>maybe</task_complete>`)],
    ['an empty task_complete', xml(`${sections}${keys}<task_complete/>`)],
  ])('with %s is read as it is', (_, reply) => {
    expect(parseXmlReply(reply)).toMatchObject({ error: '', warnings: [], commands: [command], isComplete: false })
  })

  test('does not know a duration without quotes', () => {
    const parsed = parseXmlReply(xml(sections + keys.replace('"0.5"', '0.5')))
    expect(parsed).toMatchObject({ error: '', commands: [{ durationSec: 1 }] })
    expect(parsed.warnings).toEqual([
      expect.stringMatching(/double quotes/),
      expect.stringMatching(/no duration; 1\.0/),
    ])
  })

  test.each([
    ['no response', 'ls', 'No <response> tag found'],
    ['nothing', '<response> </response>', 'No <response> tag found'],
    ['no commands section', xml(sections), 'Missing <commands> section'],
  ])('of %s is an error', (_, reply, error) => {
    expect(parseXmlReply(reply)).toMatchObject({ error, commands: [] })
  })

  test('types its keystrokes as they stand, tags included', () => {
    const typed = "cat > a.xml <<'END'\n<a>&amp;</a>\nEND\n"
    expect(
      parseXmlReply(xml(`${sections}<commands><keystrokes duration="1">${typed}</keystrokes></commands>`)).commands,
    ).toEqual([{ keystrokes: typed, durationSec: 1 }])
  })

  test('without the end of its last keystrokes runs those before', () => {
    const parsed = parseXmlReply(xml(`${sections}<commands><keystrokes duration="0.5">ls\n</keystrokes><keystrokes>rm`))
    expect(parsed).toMatchObject({ error: '', commands: [command] })
    expect(listed(parsed.warnings)).toContain('- A <keystrokes> without its </keystrokes> was ignored')
  })

  test('of five million characters of anything is read or refused', () => {
    for (const piece of ['<keystrokes>', '<keystrokes duration="', '<a>', '{', '{"a":{}', 'x=1 ', '\\"']) {
      const text = piece.repeat(5_000_000 / piece.length)
      expect(listed(parseXmlReply(`<response><commands>${text}`).warnings).length).toBeLessThan(10_000)
      expect(parseJsonReply(text).error).not.toBe('')
    }
  })

  test('does not take a tag inside a section for a section', () => {
    const parsed = parseXmlReply(xml(`<analysis>the <commands> tag</analysis><plan>p</plan>${keys}`))
    expect(parsed).toMatchObject({ analysis: 'the <commands> tag', commands: [command], warnings: [] })
  })

  test('whose task is complete needs no commands', () => {
    expect(parseXmlReply(xml(`${sections}<task_complete>true</task_complete>`))).toMatchObject({
      isComplete: true,
      error: '',
    })
  })

  test('is whole only with its end', () => {
    expect(xmlDialect.isWhole(`${xml()} and`)).toBe(true)
    expect(xmlDialect.isWhole(xml().slice(0, -5))).toBe(false)
  })

  test('of any text is read or refused, never thrown', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseXmlReply(`<response>${text}`)))
  })
})

test('a reply with a hundred thousand commands is read like any other', () => {
  const commands = Array(100_000).fill({ keystrokes: 'a' })
  const parsed = parseJsonReply(JSON.stringify({ analysis: '', plan: '', commands }))
  expect([parsed.error, parsed.commands.length]).toEqual(['', 100_000])
})
