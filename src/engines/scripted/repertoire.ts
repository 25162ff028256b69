import type { ChatMessage } from '../../core/model.ts'
import { openingText } from './manner.ts'
import { loadScript, type Script } from './script-file.ts'
import { loadSolutionTurns, type Style } from './solution-turns.ts'
import { type KnownTask, loadTaskIndex, type TaskIndex } from './task-index.ts'
import type { Turn } from './turn.ts'

/** Everything that can be played. */
export interface Repertoire {
  /** Turns for requests in the order they arrive, whatever their content; null when each conversation has its own. */
  readonly inOrder: readonly Turn[] | null
  /** The turns for a conversation, or null when none are known. */
  turnsFor(messages: readonly ChatMessage[]): Promise<readonly Turn[] | null>
}

/** Reads a script and the tasks in some folders; problems with them are a UserError. */
export async function loadRepertoire(
  folders: readonly string[],
  scriptFile: string | null,
  style: Style,
): Promise<Repertoire> {
  const script = scriptFile === null ? null : await loadScript(scriptFile)
  return makeRepertoire(script, folders.length === 0 ? null : await loadTaskIndex(folders), style)
}

/** Recognising a task takes longer than everything else, and each turn repeats it for the same conversation. */
const maxRemembered = 10_000

/**
 * A script's lists for tasks take precedence, then the tasks' own solutions, then the script's turns for everything
 * else.
 */
function makeRepertoire(script: Script | null, index: TaskIndex | null, style: Style): Repertoire {
  const byOpening = new Map<string, Promise<readonly Turn[] | null>>()
  const bySolution = new Map<string, Promise<readonly Turn[] | null>>()
  const solve = (task: KnownTask) => remembered(bySolution, task.dir, () => loadSolutionTurns(task, style))
  return {
    inOrder: script?.order === 'requests' ? script.turns : null,
    turnsFor(messages) {
      const opening = openingText(messages)
      return remembered(byOpening, opening, async () => {
        const listed = script?.tasks.find(({ match }) => opening.includes(match))
        if (listed) return listed.turns
        const task = index?.find(opening)
        return (task && (await solve(task))) ?? script?.turns ?? null
      })
    },
  }
}

function remembered<T>(memory: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = memory.get(key)
  if (known) return known
  const made = make()
  memory.set(key, made)
  made.catch(() => memory.delete(key))
  const oldest = memory.size > maxRemembered ? memory.keys().next().value : undefined
  if (oldest !== undefined) memory.delete(oldest)
  return made
}
