import { expect, test } from 'vitest'
import { PromptWatch, promptMark } from './idle.ts'

const longMs = 3_600_000
const wait = { ms: longMs, wait: 'idle', isLastInput: false } as const

test('a wait ends when the prompt is the last thing written', async () => {
  const watch = new PromptWatch()
  const waiting = watch.wait(wait)
  watch.note(`out\r\n$ ${promptMark}`)
  await waiting
  expect(watch.isAtPrompt).toBe(true)
})

test('a mark that comes in two pieces is a mark', async () => {
  const watch = new PromptWatch()
  const waiting = watch.wait({ ...wait, isLastInput: true })
  watch.note(`$ ${promptMark.slice(0, 3)}`)
  expect(watch.isAtPrompt).toBe(false)
  watch.note(promptMark.slice(3))
  await waiting
})

test('a prompt that is followed by typed-ahead text is not the end', async () => {
  const watch = new PromptWatch()
  const waiting = watch.wait({ ...wait, ms: 60 })
  watch.note(`$ ${promptMark}`)
  watch.note('sleep 5\r\n')
  let done = false
  void waiting.then(() => {
    done = true
  })
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(done).toBe(false)
  await waiting
})

test('a prompt that was there before does not count', async () => {
  const watch = new PromptWatch()
  watch.note(promptMark)
  const ended = await Promise.race([
    watch.wait(wait).then(() => 'idle'),
    new Promise((resolve) => setTimeout(() => resolve('still waiting'), 50)),
  ])
  expect(ended).toBe('still waiting')
  watch.end()
})

test('a full wait does not look at prompts', async () => {
  const watch = new PromptWatch()
  let done = false
  const waiting = watch.wait({ ...wait, ms: 80, wait: 'full' }).then(() => {
    done = true
  })
  watch.note(promptMark)
  await new Promise((resolve) => setTimeout(resolve, 40))
  expect(done).toBe(false)
  await waiting
})

test('an abort and the end of the program end a wait', async () => {
  const watch = new PromptWatch()
  const controller = new AbortController()
  const aborted = watch.wait({ ...wait, signal: controller.signal })
  controller.abort()
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
  const ended = watch.wait(wait)
  watch.end()
  await ended
  await watch.wait(wait)
})
