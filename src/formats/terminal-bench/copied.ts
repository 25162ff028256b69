/** Files of a Terminal-Bench task that have another place in a Harbor task, or none. */
const apart = new Set(['tests', 'solution.sh', 'solution.yaml', 'run-tests.sh', 'task.yaml'])

/** Which of the files that are kept apart a Dockerfile copies by name, so that it cannot be built without them. */
export function copiedByName(dockerfile: string): string[] {
  const instructions = dockerfile.replace(/\\\r?\n/g, ' ').split('\n')
  const tops = instructions.flatMap(sourcesOf).map((path) => path.replace(/^(\.?\/)+/, '').split('/')[0] ?? '')
  return [...new Set(tops)].filter((top) => apart.has(top))
}

/** Whether an entry at the root of a Terminal-Bench task is kept apart from its environment. */
export function isKeptApart(name: string): boolean {
  return apart.has(name) || /^docker-compose\.ya?ml$/.test(name)
}

function sourcesOf(instruction: string): string[] {
  const [, rest = ''] = /^\s*(?:COPY|ADD)\s+(.*)$/i.exec(instruction) ?? []
  if (/--from=/.test(rest)) return []
  const words = rest.trim().startsWith('[')
    ? [...rest.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '')
    : rest.trim().split(/\s+/)
  return words.filter((word) => word !== '' && !word.startsWith('--')).slice(0, -1)
}
