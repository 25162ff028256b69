import {
  type AskingContext,
  asJson,
  ask,
  asTask,
  authorOptions,
  authorTask,
  BadReply,
  type Dropped,
  definePlugin,
  draftStage,
  filesOf,
  isDropped,
  type MapStage,
  makeRandom,
  type RawRow,
  type ReplyForm,
  renderTemplate,
  type TaskDraft,
  taskRules,
  z,
} from 'ot-agent'

const difficulties = ['easy', 'medium', 'hard'] as const

const idea = z.strictObject({
  name: z.string().min(3).max(80).describe('a few words in kebab-case'),
  description: z.string().min(40).max(4000).describe('what is to be done, and how one would see that it is done'),
  difficulty: z.enum(difficulties),
})
type Idea = z.output<typeof idea>

const options = z.strictObject({
  ...authorOptions,
  seed: z.string().min(1).default('{{text}}').describe('What inspires an idea: `{{field}}` is filled from the row.'),
  maxSeedChars: z.number().int().min(100).default(6000),
  examples: z
    .array(idea)
    .default([])
    .describe('Ideas to learn from; `shots` of them, drawn by seed and row, are shown.'),
  shots: z.number().int().min(0).default(3),
  ideas: z
    .number()
    .int()
    .min(1)
    .max(10)
    .default(1)
    .describe('How many ideas a row gives: one, or a course of several that starts easy and ends hard.'),
})
type Options = z.output<typeof options>

/**
 * S6b: a text inspires an idea, or a series of them; a model turns each into a complete task, with tests and a
 * solution.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'self-instruct',
  summary: 'A model has ideas for tasks, from easy to hard, and writes each of them out with tests and a solution',
  options,
  make: (given) => draftStage(given, (row, at) => makeDrafts(row, given, at)),
})

async function makeDrafts(row: RawRow, given: Options, at: AskingContext): Promise<readonly (TaskDraft | Dropped)[]> {
  const { system, temperature, maxOutputTokens, tries } = given
  const shown = makeRandom(at.seed, `shots ${row.id}`).sample(given.examples, given.shots)
  const form = asNewIdeas(given.ideas, shown)
  const prompt = ideaPrompt(row, given, shown)
  const ideas = await ask({ prompt, form, system, temperature, maxOutputTokens, tries, id: row.id }, at)
  if (isDropped(ideas)) return [ideas]
  const { pipeline, repairs } = given
  const drafts: (TaskDraft | Dropped)[] = []
  for (const [nth, each] of ideas.value.ideas.entries()) {
    const name = `${pipeline}-${row.id}${nth === 0 ? '' : `-${nth + 1}`}`
    const written = { prompt: taskPrompt(each), form: asTask, before: [ideas] }
    const config = { metadata: { difficulty: each.difficulty, keywords: [each.name] } }
    drafts.push(
      await authorTask(
        {
          ...{ row, pipeline, strategy: 'self-instruct', name, repairs, ...written },
          parts: (task) => ({ instruction: task.instruction, files: filesOf(task), config }),
        },
        given,
        at,
      ),
    )
  }
  return drafts
}

/** Rejects copied ideas: small models return the examples, almost word for word. */
function asNewIdeas(count: number, shown: readonly Idea[]): ReplyForm<{ readonly ideas: readonly Idea[] }> {
  const form = asJson(z.strictObject({ ideas: z.array(idea).length(count) }), 'ideas')
  return {
    ...form,
    read(text) {
      const said = form.read(text)
      const taken = said.ideas.find(
        ({ name, description }, nth) =>
          shown.some((other) => other.name === name || likeness(other.description, description) >= copyFrom) ||
          said.ideas.slice(0, nth).some((other) => other.name === name || other.description === description),
      )
      if (taken) throw new BadReply(`expected an idea of its own, got one that was there before: ${taken.name}`)
      return said
    },
  }
}

/** A description that shares this fraction of its words is a copy. */
const copyFrom = 0.6

/** The fraction of words that two texts share. */
function likeness(a: string, b: string): number {
  const [some, others] = [a, b].map((text) => new Set(text.toLowerCase().match(/\w+/g)))
  const common = [...(some ?? [])].filter((word) => others?.has(word)).length
  const all = (some?.size ?? 0) + (others?.size ?? 0) - common
  return all === 0 ? 1 : common / all
}

function ideaPrompt(row: RawRow, { seed, maxSeedChars, ideas }: Options, shown: readonly Idea[]): string {
  const text = renderTemplate(seed, row.fields).slice(0, maxSeedChars)
  const learn = shown.map((example) => `- ${JSON.stringify(example)}`).join('\n')
  const wanted =
    ideas === 1
      ? 'Have one idea for a task that a person could give to somebody who works in a Linux terminal.'
      : `Have ideas for ${ideas} tasks that a person could give to somebody who works in a Linux terminal: a course in which each task needs a little more than the one before it, from easy to hard, and all of them lead to one skill.`
  return `${wanted}

An idea is self-contained: it needs no network, no accounts and no hardware. It has results one can look at, such as files, outputs of programs or the state of a repository, and there is a way to tell by a program whether they are right. At most 450 words.
${learn === '' ? '' : `\nSuch ideas are good. Have others:\n${learn}\n`}
Let this text inspire you; the task need not be about it:
<text>
${text}
</text>`
}

function taskPrompt({ name, description, difficulty }: Idea): string {
  return `Write this idea out as a task that can be given to an agent and judged by a program.

${taskRules}

The idea (${difficulty}): ${name}
${description}`
}
