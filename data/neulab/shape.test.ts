import { expect, test } from 'vitest'
import { shape } from './shape.ts'

const fields = (conversations: object[]) =>
  shape({ id: '1', source: 'codeactinstruct', fields: { conversations } }).fields
const said = (user: string, reply = 'The answer is <solution> 12 </solution>.') => [
  { from: 'human', value: user },
  { from: 'gpt', value: reply },
]
const rules = `You are a helpful assistant that solves problems.

At each turn, you should first think. After that, you have two options:

1) Interact with a Python programming environment. Your code should be enclosed in a tag.
2) Directly provide a solution. Your solution should be enclosed in a tag.

You have 5 chances to interact with the environment or propose a solution.`
const functions = `The following functions are defined and ready for use in bash:

goto(place: str) -> str
    Go to a place.

    For example: goto("drawer 1")

look() -> str
    Look around. It will return what you see in the room.
`
const asked = 'How many edges has a cube?'

test.each([
  ['a task alone', asked],
  ['a task after a heading', `Task:\n${asked}`],
  ['a task between rules of the conversation', `${rules}\n\n${asked}\n\nYou have 3 chances to propose a solution.`],
  ['a task before a list of functions', `${asked}\n\n${functions}`],
  ['a task after one', `${functions}\n${asked}`],
  ['a task with a hint at the form', `${asked}\nYou should first think, then write code.`],
])('%s is the task, and nothing about the conversation', (_, user) => {
  expect(fields(said(user))).toEqual({ task: asked, solution: '12' })
})

test('raw rows name the parts of a turn in another way, and begin with a system message', () => {
  const turns = [
    { role: 'system', content: rules },
    { role: 'user', content: `Task:\n${asked}` },
    { role: 'assistant', content: 'It is <solution>12</solution>' },
  ]
  expect(fields(turns)).toEqual({ task: asked, solution: '12' })
})

test.each([
  ['what is wrong', [...said(asked), { from: 'human', value: 'Your answer is wrong.' }]],
  ['a part of a table', said('Given the following table (only the first 5 rows are shown): a b. How many are there?')],
  ['a machine', said('Tell me how many files are in the directory "/etc"?')],
  ['a room', said('Interact with a household to solve a task. How many cups are there?')],
  [
    'what was looked up',
    [...said(asked, '<execute>print(wikipedia_search("cube"))</execute>'), ...said('Seen.').slice(1)],
  ],
  ['no solution', said(asked, 'I do not know.')],
])('%s leaves nothing to check by', (_, turns) => {
  expect(fields(turns)).toMatchObject({ solution: '' })
})
