import { type Answer, ask, BadReply, type Dropped, type ReplyForm, type StageContext } from 'ot-agent'

/** A Dockerfile, of which only the environment is taken: who starts what in it is not its matter. */
export const asDockerfile: ReplyForm<string> = {
  rules: 'Answer with one Dockerfile in a fenced block and nothing else.',
  read(text) {
    const body = (/```(?:dockerfile)?\s*\n([\s\S]*?)```/i.exec(text)?.[1] ?? text).trim()
    if (!/^FROM \S+/im.test(body)) throw new BadReply('expected a Dockerfile with FROM, found none')
    if (/^(?:CMD|ENTRYPOINT|USER)\b/im.test(body)) throw new BadReply('expected no CMD, ENTRYPOINT or USER')
    return `${body}\n`
  },
}

const asBase: ReplyForm<string> = {
  ...asDockerfile,
  read(text) {
    const body = asDockerfile.read(text)
    if (/^(?:COPY|ADD)\b/im.test(body))
      throw new BadReply('expected no COPY or ADD: the files of the task are copied later')
    return body
  },
}

/** E1: a model writes what a task's environment is built from; the task's own files are copied in afterwards. */
export function writeDockerfile(instruction: string, id: string, at: StageContext): Promise<Answer<string> | Dropped> {
  const prompt = `An agent will work on this task in a container:\n\n<task>\n${instruction}\n</task>\n\nWrite the Dockerfile of that container. Start from a small Debian or Ubuntu image, install what is needed to work on the task, and tmux. Do not do any part of the task itself, and keep it short.`
  return ask({ prompt, form: asBase, id }, at)
}
