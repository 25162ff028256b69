import { type Answer, ask, BadReply, type Dropped, type ReplyForm, type StageContext } from 'ot-agent'

/** A Dockerfile used only for its environment; how it starts programs does not matter. */
export const asDockerfile: ReplyForm<string> = {
  rules: 'Answer with one Dockerfile in a fenced block and nothing else.',
  read(text) {
    const body = (/```(?:dockerfile)?\s*\n([\s\S]*?)```/i.exec(text)?.[1] ?? text).trim()
    if (!/^FROM \S+/im.test(body)) throw new BadReply('expected a Dockerfile with FROM, found none')
    const odd = oddLine(body)
    if (odd !== null) throw new BadReply(`expected only instructions of a Dockerfile, got ${JSON.stringify(odd)}`)
    if (/^(?:CMD|ENTRYPOINT|USER)\b/im.test(body)) throw new BadReply('expected no CMD, ENTRYPOINT or USER')
    return `${body}\n`
  },
}

const instruction =
  /^(?:FROM\s+(?:--platform=\S+\s+)?\S+(?:\s+AS\s+\S+)?$|(?:RUN|COPY|ADD|ENV|ARG|WORKDIR|LABEL|EXPOSE|VOLUME|SHELL|STOPSIGNAL|HEALTHCHECK|ONBUILD|MAINTAINER|CMD|ENTRYPOINT|USER)\s+\S)/i

/**
 * The first line that cannot belong to a Dockerfile; null if there is none. Small models mix in prose and shell
 * commands.
 */
function oddLine(body: string): string | null {
  let isOpen = false
  let end: string | null = null
  for (const line of body.split('\n').map((one) => one.trim())) {
    if (end !== null) {
      if (line === end) end = null
    } else if (line !== '' && !line.startsWith('#')) {
      if (!isOpen && !instruction.test(line)) return line.slice(0, 100)
      isOpen = line.endsWith('\\')
      end = /<<-?\s*["']?(\w+)/.exec(line)?.[1] ?? null
    }
  }
  return null
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
