/** Asks whoever worked so far to write down everything for a successor. */
export function summaryPrompt(instruction: string): string {
  return `The conversation has become too long and another agent will go on with the task. It will know nothing of what happened here except what you write now. Write a full account of your work on this task:

1. What you did, step by step: commands that mattered, files you made or changed and what is in them, and what came of it.
2. What you found out: how the environment is set up, the text of errors, versions, paths, numbers, decisions and their reasons.
3. How things stand now: what works, what does not, what is still running.
4. What you would do next, in order, and what to be careful about.

Be exact: quote names, paths, commands and values as they are. Do not do any work now, only write.

The task was:
${instruction}`
}

/** Asks the successor what the account leaves open. */
export function questionsPrompt(instruction: string, summary: string, screen: string): string {
  return `You are going to take over a task from another AI agent.

The task:
${instruction}

The other agent's account of its work:
${summary}

The terminal as it is now:
${screen}

Before you start you may ask the other agent, which remembers everything. Ask at least five questions about what is unclear or missing in its account and matters for the rest of the work. Write only the questions, numbered.`
}

/** Asks the predecessor the successor's questions. */
export function answersPrompt(questions: string): string {
  return `The agent that takes over has these questions for you:

${questions}

Answer each one fully and exactly, from what you know of the work so far.`
}

/** The successor's first message. */
export function handoffPrompt(answers: string): string {
  return `Here are the answers the other agent provided.

${answers}

Continue working on this task from where the other agent left off. You cannot ask it anything any more. Reply in the form you were told at the beginning.`
}

/** Asks for a short account when there is no room for a full one. */
export function shortSummaryPrompt(instruction: string, screen: string): string {
  return `Briefly continue this task: ${instruction}

The terminal ends like this:
${screen}

Earlier messages are lost. In two or three sentences, say what seems to be done and what to do next.`
}

/** Starts over with what little is known. */
export function restartPrompt(firstPrompt: string, summary: string | null, screen: string): string {
  const known = summary === null ? '' : `\n\nWhat is known of the work so far:\n${summary}`
  return `${firstPrompt}\n\nWork on this task has begun already; earlier messages are lost.${known}\n\nCurrent state:\n${screen}`
}
