import { readFileSync } from 'node:fs'

type Keys = readonly [keystrokes: string, duration?: number]

const json = (commands: readonly Keys[], more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({
    analysis: 'as before',
    plan: 'go on',
    commands: commands.map(([keystrokes, duration = 0.5]) => ({ keystrokes, duration })),
    ...more,
  })

const recorded = readFileSync('test/fixtures/terminus-2/harbor-observations.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => String(JSON.parse(line).reply).replace('ls -la /app', 'ls -la .'))

/** The recorded script up to its end, then difficult cases for terminals and replies. */
export const jsonReplies: readonly string[] = [
  ...recorded.slice(0, -3),
  // Where output is cut depends on the length of the prompt.
  json([['PS1="judge# "\n']]),
  json([['seq 1000000 1001500\n', 1]]),
  json([["printf 'a\\tb   \\n   \\n'\n"]]),
  json([['C-l']]),
  json([["printf '\\033[H\\033[J'; seq 1 60\n"]]),
  json([['printf "%0400d\\n" 7\n']]),
  json([['less /etc/services\n', 1]]),
  json([['q']]),
  json([['echo hom'], ['home'], ['end'], ['enter']]),
  json([['cat\n'], ['typed\n'], ['C-d']]),
  json([['', 0.2], ['echo after nothing\n']]),
  json([], { task_complete: 'false' }),
  json([], { task_complete: null }),
  json([['pwd\n']], { mood: 'good' }),
  '{"plan": "p", "analysis": "a", "commands": [{"keystrokes": "pwd\\n"}, {"keystrokes": "pwd\\n", "duration": "long", "wait": 1}]}',
  '{"analysis": "a", "plan": "p", "commands": [{"duration": 1}]}',
  '{"analysis": "a", "plan": "p", "commands": "pwd"}',
  '{"analysis": 1, "plan": ["p"], "commands": []',
  'Use } and { first. {"analysis": "a", "plan": "p", "commands": []}',
  '{"analysis": "a\nb", "plan": "p", "commands": []}',
  json([['seq 1 3000\n', 1]], { task_complete: true }),
  json([['pwd\n']]),
  'no json between the two',
  json([], { task_complete: true }),
  'no json between the two',
  json([['echo the end\n']], { task_complete: true }),
]

const xml = (body: string) => `<response>\n${body}\n</response>`
const said = '<analysis>a</analysis>\n<plan>p</plan>\n'
const keys = (text: string, attributes = ' duration="0.5"') => `<keystrokes${attributes}>${text}</keystrokes>`

/** Replies in XML, valid and invalid. */
export const xmlReplies: readonly string[] = [
  xml(`${said}<commands>${keys('echo one\n')}${keys('echo two\n')}</commands>`),
  `Well. ${xml(`${said}<commands>${keys('pwd\n')}</commands>`)} That is all.`,
  'no response at all',
  xml(said),
  xml(`${said}<commands></commands>`),
  xml(`<commands>${keys('pwd\n')}</commands>${said}`),
  xml(`<plan>p</plan><commands>${keys('echo "a &amp;&amp; b &lt; c"\n')}${keys('echo "&amp;"\n')}</commands>`),
  xml(`${said}<mood>good</mood><commands>${keys('echo x', '')}${keys("echo 'y'\n", " duration='0.2'")}</commands>`),
  xml(
    `${said}<commands>${keys('echo bare\n', ' duration=0.2')}${keys('echo more\n', ' wait="1" duration="0.2"')}</commands>`,
  ),
  `<response>${said}<commands>${keys('echo no end\n')}</commands>`,
  xml(
    `${said}<plan>q</plan><commands>${keys('echo words\n', ' duration="long"')}</commands><task_complete>maybe</task_complete>`,
  ),
  xml(`${said}<commands>${keys('echo done\n')}</commands><task_complete>true</task_complete>`),
  xml(`${said}<commands>${keys('echo not yet\n')}</commands><task_complete>false</task_complete>`),
  xml(`${said}<commands></commands><task_complete>true</task_complete>`),
  xml(`${said}<task_complete>true</task_complete>`),
]
