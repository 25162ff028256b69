import { expect, test } from 'vitest'
import { rubricSchema } from '../../src/stages/shared/judging/rubric.ts'
import { byRubric } from './by-rubric.ts'

const block = (text: string, before = '') => ({ text, language: null, before })
const asked = 'The service stops after a minute, with `code 137` in its log. Why, and how do I keep it running?'
const said =
  'The kernel kills it, because the unit has a limit of memory that is too low for what the service reads at its start. Raise it with `MemoryMax` in the unit and reload the manager:'
const code = '[Service]\nMemoryMax=2G'

/** A question as the reader of dumps returns it. */
function row({
  body = asked,
  answer = said,
  answerCode = [block(code)],
  title = 'Killed after a minute',
  votes = { score: 3, accepted: true, isOwn: false } as object,
  otherAnswers = [] as object[],
  after = '',
  questionCode = [] as object[],
} = {}) {
  const full = `${answer}\n\n${answerCode.map(({ text }) => `\`\`\`\n${text}\n\`\`\``).join('\n\n')}\n\n${after}`
  const best = { id: 2, ...votes, body: full, code: answerCode }
  const fields = { title, body, day: '2022-01-02', code: questionCode, answer: best, otherAnswers }
  return { id: '1', source: 'unix', fields }
}
const settings = { domain: 'unix.stackexchange.com', passAt: 0.75, minEndorsements: 2 }
const make = (given: Parameters<typeof row>[0]) => byRubric(row(given), settings)

test('the judge gets criteria drawn from the answer, and the agent sees none of it', () => {
  const made = make({})
  if ('drop' in made) throw new Error(made.drop)
  const rubric = rubricSchema.parse(JSON.parse(String(made.files?.['tests/judge.json']?.data)))
  expect(rubric.criteria.map(({ name }) => name)).toEqual([
    'solves the question',
    'point 1',
    'detail 1',
    'code',
    'nothing wrong',
  ])
  expect(rubric.criteria[1]?.text).toContain('The kernel kills it')
  expect(rubric.criteria[2]?.text).toContain('MemoryMax')
  expect(rubric.reference).toContain(code)
  expect(made.instruction).toContain('unix.stackexchange.com on 2022-01-02')
  expect(made.instruction).not.toMatch(/MemoryMax|kernel/)
  expect(made.files?.['solution/answer.md']?.data).toContain(code)
})

test.each([
  ['needs-picture', { body: `${asked} [image: a window]` }],
  ['solved-in-question', { body: `${asked}\n\nUpdate: it is solved, the limit was too low.` }],
  ['solved-in-question', { body: `${asked}\n\n${code}` }],
  ['solved-in-question', { body: `${asked}\n\nEDIT: Added \`MemoryMax=2G\` to the end of the unit, and now working.` }],
  ['no-single-answer', { title: 'What is the best init system?' }],
  ['asks-nothing', { title: 'A note', body: 'The service stops after a minute, with `code 137` in its log.' }],
  ['code-elsewhere', { body: `${asked} My code is here: https://example.org/repo` }],
  ['about-one-account', { body: `${asked} All my coins are gone.` }],
  ['answer-has-picture', { answer: `${said} [image: the log]` }],
  ['answer-asks-back', { answer: `Could you post the whole log? ${said}` }],
  ['answer-leans-on-others', { answer: `As Ann said, ${said}` }],
  ['answer-of-its-day', { answer: `This is a known bug. ${said}` }],
  ['answer-of-its-day', { answer: `Limits for groups have not yet been implemented. ${said}` }],
  ['answer-of-its-day', { answer: `The kernel does not yet have support for this. ${said}` }],
  ['answer-is-a-story', { answer: `I had the limit at 1 GB, then I raised it. ${said}` }],
  ['answer-is-a-story', { answer: `Figured it out. ${said}` }],
  ['answer-is-unsure', { answer: `AFAIK ${said}` }],
  ['answer-is-unsure', { answer: `Not really sure what you mean. ${said}` }],
  ['answer-is-unsure', { answer: `I could not find a way around this yet. ${said}` }],
  ['answer-was-corrected', { answer: `${said} Edit based on comments: it isn't the memory.` }],
  ['answer-too-short', { answer: 'Raise the limit.' }],
  ['answer-is-own', { votes: { score: 1, accepted: true, isOwn: true } }],
  ['answer-little-endorsed', { votes: { score: 1, accepted: false, isOwn: false } }],
  ['answer-little-endorsed', { votes: { score: 0, accepted: true, isOwn: false } }],
  ['answer-disputed', { votes: { score: 2, accepted: true, isOwn: false, comments: 4 } }],
  ['answer-is-elsewhere', { answer: `Here is a program that does it: https://example.org/program. ${said}` }],
  ['answer-is-elsewhere', { answer: `This page is good: https://example.org/page. ${said}` }],
  ['answer-is-elsewhere', { answer: `You could have a look at this (https://example.org/page). ${said}` }],
  ['no-single-answer', { body: `${asked} Are there any tools, services or strategies?` }],
  ['answer-is-unsure', { answer: `I'm only answering the first part: ${said}` }],
  ['answer-was-corrected', { answer: `See further. ## Original post: ${said}` }],
  ['answer-is-a-story', { answer: `${said} That happened to me, too.` }],
  ['answer-of-its-day', { answer: `It works in commit ${'c801b700'.repeat(5)}. ${said}` }],
  ['answer-is-a-story', { answer: `This thread helped me: https://example.org/thread. ${said}` }],
  ['no-single-answer', { body: `${asked} How do people handle this?` }],
  ['solved-in-question', { body: `${asked} I have included such an answer.` }],
  ['solved-in-question', { body: `${asked} For the solution see my own answer.` }],
  ['answer-asks-back', { answer: `Why don't you want to raise the limit? ${said}` }],
  ['answer-is-unsure', { answer: `(I'm not positive about this.) ${said}` }],
  ['answer-is-unsure', { answer: `${said} I haven't been able to test this version.` }],
  [
    'answer-of-its-day',
    { answer: `The developers discuss it on https://github.com/example/service/issues/12. ${said}` },
  ],
  ['answer-of-its-day', { answer: `Limits for groups are not currently supported. ${said}` }],
  ['answer-is-a-story', { answer: `Turns out my limit was too low. ${said}` }],
  ['code-elsewhere', { body: `${asked} The full log: https://gist.github.com/ann/1` }],
  ['no-criteria', { answer: `${'Its manual is https://example.org/manual for this. '.repeat(9)}`, answerCode: [] }],
])('%s: such a question makes no task', (drop, given) => {
  expect(make(given)).toMatchObject({ drop, id: '1' })
})

test.each([
  ['others voted for what the asker answered', { votes: { score: 2, accepted: true, isOwn: true } }],
  ['credit after the answer', { answer: said, after: 'As Ann said in the comments, thanks to @bob, this also helps.' }],
  ['a polite way to answer', { answer: `Could you please try following. ${said}` }],
  ['a question for a condition', { title: 'When is a service killed?' }],
  ['the future of the reader', { answer: `This avoids conflicts in the future. ${said}` }],
  ['lines that occur twice', { answer: `It reads each duplicate line again. ${said}` }],
  ['what is not there yet', { answer: `The unit does not yet exist on a new machine. ${said}` }],
  ['a wish for an answer', { body: `${asked} I'd love to see an answer using only a unit.` }],
  ['points that are none of an answer', { answer: `If the graph already has two points, it is read again. ${said}` }],
  ['a bug report as an aside', { answer: said, after: 'See https://github.com/example/service/issues/12.' }],
  ['what turns out to be so', { answer: `The limit turns out to be too low. ${said}` }],
  ['a guess at what is wanted', { answer: `I guess this is what you want. ${said}` }],
  ['what other systems lack', { answer: said, after: 'Note that this may not implemented on small systems.' }],
  ['what a tool lacks', { answer: `The limit is not available in the old manager. ${said}` }],
  ['an old answer below the new one', { answer: said, after: 'I leave the original answer of 2008 here.' }],
  ['a fix that is not the question', { body: `I fixed it by a restart. My question is, ${asked}` }],
  ['code of an aside', { body: `I overrode it (https://gist.github.com/ann/1). ${asked}` }],
  ['one who wonders', { title: 'Limits', body: 'The log says `code 137`. I am wondering if there is a limit.' }],
  ['an error as the question', { title: 'UnitLimitError', body: 'The service stops after a minute with `code 137`.' }],
])('%s: such a question makes a task', (_, given) => {
  expect(make(given)).not.toHaveProperty('drop')
})

test('that askers who show what they want accept code counts as another reader', () => {
  const votes = { score: 0, accepted: true }
  const body = `${asked} The expected output is below.`
  const twoBlocks = [block('a'), block('b')]
  expect(make({ votes, body })).toMatchObject({ drop: 'answer-little-endorsed' })
  expect(make({ votes, body: asked, questionCode: twoBlocks })).toMatchObject({ drop: 'answer-little-endorsed' })
  expect(make({ votes, body, questionCode: twoBlocks })).not.toHaveProperty('drop')
  const own = { ...votes, score: 1, isOwn: true }
  expect(make({ votes: own, body, questionCode: twoBlocks })).toMatchObject({ drop: 'answer-is-own' })
})

test.each([
  'My config looks like this:',
  'The output is an error:',
  'It runs, but the result is wrong.',
  'When I run it the output is:',
])('what is there is not what is wanted: %s', (sentence) => {
  const given = { votes: { score: 0, accepted: true }, questionCode: [block('a'), block('b')] }
  expect(make({ ...given, body: `${asked} ${sentence}` })).toMatchObject({ drop: 'answer-little-endorsed' })
  expect(make({ ...given, body: `${asked} The output should be:` })).not.toHaveProperty('drop')
  expect(make({ ...given, body: `${asked} It must look like this:` })).not.toHaveProperty('drop')
})

test('remarks are compared with the readers that the reason names', () => {
  const given = { body: `${asked} The expected output is below.`, questionCode: [block('a'), block('b')] }
  const votes = { score: 1, accepted: true, comments: 3 }
  expect(make({ ...given, votes })).not.toHaveProperty('drop')
  expect(make({ ...given, votes: { ...votes, comments: 4 } })).toMatchObject({
    drop: 'answer-disputed',
    detail: '4 remarks, 3 readers behind it',
  })
})

test('an unfit answer by the asker hides no good one by someone else', () => {
  const others = { id: 3, score: 8, accepted: false, body: `Others say: ${said}`, code: [] }
  const given = { answer: `I reset the machine. ${said}`, otherAnswers: [others] }
  expect(rubricOf(make({ ...given, votes: { score: 10, isOwn: true, accepted: true } })).reference).toMatch(/^Others/)
  expect(make({ ...given, answer: `AFAIK ${said}`, votes: { score: 10, isOwn: false, accepted: true } })).toMatchObject(
    {
      drop: 'answer-is-unsure',
    },
  )
})

test('that askers accept their own answer says nothing', () => {
  const own = { score: 3, accepted: true, isOwn: true }
  const other = (score: number) => ({ id: 3, score, accepted: false, body: `Others say: ${said}`, code: [] })
  expect(rubricOf(make({ votes: own, otherAnswers: [other(3)] })).reference).toMatch(/^Others say/)
  expect(rubricOf(make({ votes: own, otherAnswers: [other(2)] })).reference).toMatch(/^The kernel/)
})

test('criteria contain no sentence that continues in code, refers back, gives credit or announces', () => {
  const more =
    'What happens to the service is that it is started again so that\n\n```\nx\n```\n\nThat is the difference between these two kinds of services and limits. There is a perfect way to handle such a service. The example shows a service that has the same limit. Thanks to Ann for the hint that the service has a limit.'
  const made = make({ answer: `${said.replace(/:$/, '.')} ${more}` })
  const texts = rubricOf(made)
    .criteria.map(({ text }) => text)
    .join('\n')
  expect(texts).toContain('The kernel kills it')
  expect(texts).not.toMatch(/so that"|"That is|"There is|"The example|"Thanks/)
})

test('points of a list need no mark at their end, and that there is no way is a point', () => {
  const more =
    '\n\n- The service reads all of its state into memory\n- The manager counts the page cache of the service too\n\nThere is no way to exempt one service from the limit.'
  const texts = rubricOf(make({ answer: 'Two things happen.', after: more })).criteria.map(({ text }) => text)
  expect(texts.join('\n')).toMatch(
    /reads all of its state into memory"[\s\S]*cache of the service too"[\s\S]*"There is no way/,
  )
})

test('an answer in which askers tell what they did themselves is a story', () => {
  const answer = `I reset the machine. ${said}`
  expect(make({ answer })).not.toHaveProperty('drop')
  expect(make({ answer, votes: { score: 5, isOwn: true, accepted: true } })).toMatchObject({
    drop: 'answer-is-a-story',
  })
})

test('an answer that adds to others leans on them', () => {
  expect(make({ answer: `Remi already has a couple of good points. ${said}` })).toMatchObject({
    drop: 'answer-leans-on-others',
  })
})

test('an answer with fewer comments than endorsements is used, and so is a commit that the question names', () => {
  expect(make({ votes: { score: 2, accepted: true, isOwn: false, comments: 3 } })).not.toHaveProperty('drop')
  const digest = 'c801b700'.repeat(5)
  const body = `${asked} It is commit ${digest}.`
  expect(make({ body, answer: `Go back before commit ${digest}. ${said}` })).not.toHaveProperty('drop')
})

test('criteria contain no placeholder of the answer, no bold markup and no half of a contrast', () => {
  const answer = `**The kernel kills it** because of a limit that is set too low. But it works for any other service that you have. Raise it with \`MemoryMax=size\`, where \`size\` is yours.`
  const texts = rubricOf(make({ answer })).criteria.map(({ text }) => text)
  expect(texts.join('\n')).not.toMatch(/\*\*|any other service|names `size`/)
  expect(texts.join('\n')).toContain('The kernel kills it because')
})

test('a right answer that says nothing else of the known one passes with one point, and all points without it do not', () => {
  const { criteria, passAt = 1 } = rubricOf(make({}))
  const sum = (some: typeof criteria) => some.reduce((all, { weight }) => all + weight, 0)
  const [solves, ...others] = criteria
  const [, ...points] = [...others].reverse()
  expect(sum(criteria.slice(0, 1)) / sum(criteria)).toBeCloseTo(2 / 3)
  expect(sum([...criteria.slice(0, 1), ...others.slice(-1), ...points.slice(0, 1)]) / sum(criteria)).toBeGreaterThan(
    passAt,
  )
  expect(sum(others) / sum(criteria)).toBeLessThan(passAt)
  expect(solves?.name).toBe('solves the question')
})

test('criteria come from the answer that most readers endorse, not from the one that only the asker accepted', () => {
  const better = `The kernel kills it when \`vm.overcommit\` is off and other services took the memory. ${said}`
  const otherAnswers = [{ id: 3, score: 7, accepted: false, isOwn: false, body: better, code: [] }]
  const { reference } = rubricOf(make({ votes: { score: 0, accepted: true, isOwn: false }, otherAnswers }))
  expect(reference).toContain('vm.overcommit')
})

test('only the first of several blocks is asked for, and a repeated sentence only once', () => {
  const other = block(`${code}\nMemoryHigh=1G\nTasksMax=20`)
  const { criteria } = rubricOf(
    make({ answer: `${said.replace(/:$/, '.')} ${said}`, answerCode: [block(code), other] }),
  )
  expect(criteria.find(({ name }) => name === 'code')?.text).not.toContain('TasksMax')
  expect(criteria.filter(({ text }) => text.includes('The kernel kills it'))).toHaveLength(1)
})

test('an answer that prints what the question wants does not repeat the question', () => {
  const table = 'unit     limit  memory\nservice  2G     137M\nmanager  1G     20M'
  const votes = { score: 5, accepted: false, isOwn: false }
  const short = { body: `${asked}\n\n${table}`, votes, answer: 'You need both limits, which a unit can have.' }
  expect(make({ ...short, answerCode: [block(table)] })).toMatchObject({ drop: 'solved-in-question' })
  expect(make({ ...short, answerCode: [block('systemctl show service manager'), block(table)] })).not.toHaveProperty(
    'drop',
  )
})

test('code that the question has, with or without what it prints, and code that is refused are not asked for', () => {
  const command = 'systemctl show service --property=MemoryMax,MemoryHigh'
  const wrapped = block('systemctl show service \\\n  --property=MemoryMax,MemoryHigh\n\nMemoryMax=1G\nMemoryHigh=1G')
  const codeOf = (answerCode: ReturnType<typeof block>[]) => {
    const { criteria } = rubricOf(make({ body: `${asked}\n\n${command}`, answerCode }))
    return criteria.find(({ name }) => name === 'code')?.text ?? null
  }
  expect(codeOf([wrapped, block(code)])).toContain('MemoryMax=2G')
  expect(codeOf([block('systemctl restart service', "A restart isn't needed here:"), block(code)])).toContain(
    'MemoryMax=2G',
  )
  expect(codeOf([block('ulimit -v 1000000', 'Consider this limit:')])).toBeNull()
  expect(codeOf([block('limit 1G in use', '[out]')])).toBeNull()
  expect(codeOf([block(code, 'Set it for the desired output:')])).toContain('MemoryMax=2G')
})

test('code that an answer quotes is not asked for', () => {
  const quoted = '> The manual says:\n\n> ```\n> ulimit -v 1000000\n> ```'
  const given = { answer: `${said}\n\n${quoted}`, answerCode: [block('ulimit -v 1000000'), block(code)] }
  expect(rubricOf(make(given)).criteria.find(({ name }) => name === 'code')?.text).toContain('MemoryMax=2G')
})

test('no sentence ends inside code', () => {
  const answer = `${said.replace(/:$/, '.')} It reads \`limit a. Num b\`, and the manager sets \`MemoryHigh\` for it.`
  const names = rubricOf(make({ answer })).criteria.flatMap(({ text }) => /^It names `(.*?)`,/.exec(text)?.[1] ?? [])
  expect(names).toEqual(['MemoryMax', 'limit a. Num b', 'MemoryHigh'])
})

test('however many points there are, a right answer passes with one of them, and all points without it do not', () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => `The manager reads \`Memory${name}\` of the unit for this.`)
  const more = [
    'The kernel counts the page cache of the service too.',
    'The manager kills the whole group of the service then.',
    'The log of the kernel names the service and its code.',
  ]
  const { criteria, passAt = 1 } = rubricOf(make({ answer: [...more, ...names, said].join(' ') }))
  const sum = (some: typeof criteria) => some.reduce((all, { weight }) => all + weight, 0)
  const [solves, ...others] = criteria
  expect(sum(others)).toBeGreaterThan(8)
  expect(((solves?.weight ?? 0) + 2) / sum(criteria)).toBeGreaterThanOrEqual(passAt)
  expect(sum(others) / sum(criteria)).toBeLessThan(passAt)
})

test('one long word in a block, such as a digest, is not code to ask for', () => {
  const { criteria } = rubricOf(make({ answerCode: [block('c801b70016856b320a0deaab1f35f7b1ca9efa27')] }))
  expect(criteria.map(({ name }) => name)).not.toContain('code')
})

function rubricOf(made: ReturnType<typeof byRubric>) {
  if ('drop' in made) throw new Error(made.drop)
  return rubricSchema.parse(JSON.parse(String(made.files?.['tests/judge.json']?.data)))
}

test.each([
  ['Killed process 12, fatal error', 'The log says:'],
  ['# print(found)\n0  killed\n1  stopped', ''],
  ['found = ["killed", "stopped", "started"]', 'A mock list to show how it works'],
])('output and invented data in an answer are no code that others have to give: %s', (text, before) => {
  const made = make({ answerCode: [block(text, before)] })
  if ('drop' in made) throw new Error(made.drop)
  expect(String(made.files?.['tests/judge.json']?.data)).not.toContain('"code"')
})

test.each([
  [
    'what the question says in another spelling',
    'The `exit_code 137` is that of a process that was killed by the kernel.',
    { body: `${asked} (exit code 137)` },
  ],
  ['what stands in a sentence of credit', 'It was suggested by Ann, see `man systemd.exec` for it.', {}],
  [
    'a value of the code of the answer',
    'The name is `hello` here.',
    { answerCode: [block(`${code}\nEnvironment="hello"`)] },
  ],
  ['what only an example has', 'For example, `systemctl status demo` shows it.', {}],
  [
    'names that the answer declares itself',
    'Call `restartLater` in your own manager of services.',
    { answerCode: [block(`function restartLater() {}\n${code}`)] },
  ],
  [
    'methods that the answer declares itself',
    'Here `restartSoon()` is called by the manager of services.',
    { answerCode: [block(`public static void restartSoon() {\n}\n${code}`)] },
  ],
])('%s is no criterion', (_, sentence, given) => {
  const made = make({ ...given, answer: `${said.replace(/:$/, '.')} ${sentence}` })
  if ('drop' in made) throw new Error(made.drop)
  const rubric = rubricSchema.parse(JSON.parse(String(made.files?.['tests/judge.json']?.data)))
  const details = rubric.criteria.filter(({ name }) => name.startsWith('detail'))
  expect(details.map(({ text }) => text)).toEqual([expect.stringContaining('`MemoryMax`')])
})

test.each([
  ['a key of the code', '`esModuleInterop`', '{ "esModuleInterop": true }'],
  ['a command in quotes', '`s/foo/bar/g`', "sed 's/foo/bar/g' unit"],
  ['an overridden method', '`hashCode()`', '@Override\npublic int hashCode() {\n}'],
  ['an overridden function', '`viewDidLoad`', 'override func viewDidLoad() {\n}'],
  ['a word beside a comment', '`# nolimit`', 'x = 1 # why'],
])('%s is a detail to name', (_, detail, text) => {
  const answer = `${said.replace(/:$/, '.')} You can add ${detail} as a comment or setting of it.`
  const { criteria } = rubricOf(make({ answer, answerCode: [block(`${text}\n${code}`)] }))
  expect(criteria.map(({ text: told }) => told).join('\n')).toContain(`It names ${detail}`)
})

// By the square of their length, these would take longer than a test may.
test.each([
  ['blank lines in code', { answer: `${said} Use \`restart\` then.`, answerCode: [block('\n'.repeat(300_000))] }],
  ['lines of blanks', { answer: `${said}\n${'  \n'.repeat(100_000)}` }],
  ['backquotes', { body: `${asked}\n\n${'`'.repeat(300_000)}` }],
  ['fences that nothing closes', { body: `${asked}\n\n${'```a\n'.repeat(60_000)}` }],
])('many %s are read at once', (_, given) => {
  expect(make(given)).toHaveProperty('instruction')
})

test('sentences that refer to something, or ask back, are not criteria', () => {
  const more =
    'If not, you need to check the logs and provide more details of the service. Removing these two lines eliminated the error for the service in the log. (Other services with a limit of memory have the same log.) Also, the service may be started again.'
  const made = make({ answer: `${said.replace(/:$/, '.')} ${more}` })
  if ('drop' in made) throw new Error(made.drop)
  const judge = String(made.files?.['tests/judge.json']?.data)
  const rubric = rubricSchema.parse(JSON.parse(judge))
  expect(rubric.criteria.map(({ text }) => text).join()).not.toMatch(/"If not|"Removing these|"\(Other|"Also/)
})
