import { type Dialect, listed, type Parsed } from './parsed.ts'

/** The one message a run starts with: the rules, the task, and the terminal as it is. */
export function firstPrompt(parser: 'json' | 'xml', instruction: string, terminalState: string): string {
  const rules = parser === 'json' ? jsonRules : xmlRules
  return `${rules}\n\nTask Description:\n${instruction}\n\nCurrent terminal state:\n${terminalState}`
}

const role = `You are an AI assistant tasked with solving command-line tasks in a Linux environment. You get the description of a task and the state of a terminal. You work by typing into that terminal, a few commands at a time, and you see what came of them before you go on.`

const keystrokeRules = `- Keystrokes are typed into the terminal exactly as you write them. Nothing is added.
- A shell command runs only if its keystrokes end with a newline.
- To press a special key, make its name in tmux's spelling the whole keystrokes, with no newline: C-c interrupts, C-d ends the input; Escape, Tab, Up and the like work too. One key per command.
- The commands of one reply are typed one after the other, in order, without waiting for your judgement in between.`

const durationRules = `- The duration is the longest time, in seconds, to wait for a command before the next one is typed; give it for every command.
- Commands that are done at once (cd, ls, echo, cat) need about 0.1. Ordinary ones (gcc, find, a short script) need about 1.0. For slow ones (make, a download, a long python3 script) take what they need.
- Rather wait too short than too long: you can always look again with empty keystrokes and a duration of 10.0.
- Never ask for more than 60 seconds; look again instead.`

const jsonRules = `${role}

Reply with one JSON object of this form:

{
  "analysis": "What the terminal shows: what is done so far, and what is still to do.",
  "plan": "What you do next, and what each command is for.",
  "commands": [
    {"keystrokes": "ls -la\\n", "duration": 0.1},
    {"keystrokes": "cd project\\n", "duration": 0.1}
  ],
  "task_complete": true
}

Required fields:
- "analysis": your reading of the current state
- "plan": your next steps
- "commands": a list of commands to type; an empty list only waits and looks again

Optional fields:
- "task_complete": true when the task is done and checked (default: false)

Each command is an object:
- "keystrokes": the text to type (required)
- "duration": how long to wait, in seconds (default: 1.0)

About "keystrokes":
${keystrokeRules}

About "duration":
${durationRules}

Also:
- The reply must be valid JSON: quotes and backslashes inside a string are escaped, a newline inside a string is \\n.
- Text before or after the object is ignored, and you are warned about it.
- Keep the fields in the order shown.`

const xmlRules = `${role}

Reply in this form:

<response>
<analysis>What the terminal shows: what is done so far, and what is still to do.</analysis>
<plan>What you do next, and what each command is for.</plan>
<commands>
<keystrokes duration="0.1">ls -la
</keystrokes>
<keystrokes duration="0.1">cd project
</keystrokes>
</commands>
<task_complete>true</task_complete>
</response>

Required sections:
- <analysis>: your reading of the current state
- <plan>: your next steps
- <commands>: the commands to type, each in a <keystrokes>; an empty section only waits and looks again

Optional sections:
- <task_complete>: true when the task is done and checked (default: false)

About <keystrokes>:
${keystrokeRules}
- Do not XML-encode them: write <, > and & as they are.

About the attribute duration:
${durationRules}

Also:
- Text before or after the response is ignored, and you are warned about it.
- Keep the sections in the order shown, each once.`

/** What a reply gets that could not be read. */
export function parseErrorPrompt({ error, warnings }: Parsed, { replyName }: Dialect): string {
  const more = warnings.length > 0 ? `\nWARNINGS: ${listed(warnings)}` : ''
  const wish = `Please fix these issues and provide a proper ${replyName}.`
  return `Previous response had parsing errors:\nERROR: ${error}${more}\n\n${wish}`
}

/** What the model sees after its commands. */
export function resultPrompt(terminalState: string, warnings: readonly string[]): string {
  return warnings.length === 0
    ? terminalState
    : `Previous response had warnings:\n${listed(warnings)}\n\n${terminalState}`
}

/** Asks once whether the task is really done. */
export function confirmPrompt(parser: 'json' | 'xml', terminalState: string, warnings: readonly string[]): string {
  const again =
    parser === 'json'
      ? 'include "task_complete": true in your JSON response again.'
      : 'include <task_complete>true</task_complete> in your response again.'
  const question = `Are you sure you want to mark the task as complete? Your work will then be graded as it stands, and you cannot change anything any more. If you are sure, ${again}`
  return resultPrompt(`Current terminal state:\n${terminalState}\n\n${question}`, warnings)
}

/** What a reply gets that was cut off. */
export function tooLongPrompt(limitTokens: number | null): string {
  const limit = limitTokens === null ? 'the output limit' : `the output limit of ${limitTokens} tokens`
  return `ERROR!! NONE of the actions you just requested were performed because you exceeded ${limit}. Your reply was cut off. Reply again and make it shorter: type less at a time, and split large files over several replies.`
}

/** What a reply gets that a filter withheld. */
export const filteredPrompt =
  'ERROR: NONE of the actions you just requested were performed because a content filter stopped your reply. Go on with the task in another way.'

/** How much time is left, as the model is told. */
export function timeLeft(deadline: Date): string {
  const seconds = Math.max(0, Math.round((deadline.getTime() - Date.now()) / 1000))
  return `Time left for this task: ${seconds} seconds.`
}
