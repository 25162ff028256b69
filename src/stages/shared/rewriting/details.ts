/** The texts that a task is judged by. */
export interface TaskTexts {
  readonly instruction: string
  /** Tests, and the files they read. */
  readonly tests: string
  readonly solution: string
}

/**
 * The details of an instruction that a rewrite must keep: every path, and every quotation or number that also occurs in
 * the tests or the solution.
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

/** The details that a rewritten instruction has lost. */
export function lostDetails(details: readonly string[], instruction: string): string[] {
  return details.filter((detail) => !instruction.includes(detail))
}
