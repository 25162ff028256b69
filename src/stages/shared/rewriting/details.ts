/** What a task is judged by, as text. */
export interface TaskTexts {
  readonly instruction: string
  /** Tests, and what they read. */
  readonly tests: string
  readonly solution: string
}

/**
 * The details of an instruction that must survive when it is told in other words: every path, and whatever is quoted or a
 * number and also occurs in the tests or the solution.
 */
export function bindingDetails({ instruction, tests, solution }: TaskTexts): string[] {
  const judged = `${tests}\n${solution}`
  const quoted = [...instruction.matchAll(/`([^`\n]{1,200})`|"([^"\n]{1,200})"/g)].map(
    ([, code, text]) => code ?? text ?? '',
  )
  const numbers = instruction.match(/(?<![\w.-])\d+(?:\.\d+)?(?![\w-]|\.\d)/g) ?? []
  const paths = instruction.match(/(?<![\w:/])\/[\w.-]+(?:\/[\w.-]+)*/g) ?? []
  const telling = [...quoted, ...numbers].filter((detail) => detail.trim() !== '' && judged.includes(detail))
  return [...new Set([...paths.map((path) => path.replace(/\.$/, '')), ...telling])]
}

/** The details that another telling of the instruction has lost. */
export function lostDetails(details: readonly string[], instruction: string): string[] {
  return details.filter((detail) => !instruction.includes(detail))
}
