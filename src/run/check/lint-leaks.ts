import type { Finding, Lint } from './finding.ts'
import type { RoundFiles, TextFile } from './task-files.ts'

/** A build file reads something that the agent must not see. */
export const buildReachesOut: Lint = ({ environment }) =>
  environment
    .filter(({ name, text }) => text.split('\n').some((line) => takesFiles(name, line) && reachesOut.test(line)))
    .map(({ path }) => {
      const message = 'copies files from ../tests or ../solution into the environment, where the agent can read them'
      return { lint: 'leak-build-context', severity: 'error', path, message }
    })

const reachesOut = /\.\.\/(?:[\w.-]+\/)*(?:tests|solution)(?![\w-])/

/** The environment contains the solution or the test script itself. */
export const scriptInEnvironment: Lint = ({ rounds, environment }) =>
  rounds.flatMap(({ testScript, solveScript }) => {
    const scripts = [testScript, solveScript].flatMap((file) => (file && bodyOf(file).length >= 40 ? [file] : []))
    return environment.flatMap((file) =>
      scripts.filter((script) => contains(file, bodyOf(script))).map((script) => told(file, script)),
    )
  })

function told(file: TextFile, script: TextFile): Finding {
  const message = `contains the text of ${script.path}, where the agent can read it`
  return { lint: 'leak-script-in-environment', severity: 'error', path: file.path, message }
}

/** The instruction spells out the solution's own commands. */
export const solutionInInstruction: Lint = ({ rounds }) =>
  rounds.flatMap(({ instruction, solveScript }): Finding[] => {
    if (!instruction || !solveScript) return []
    const commands = telling(solveScript)
    const text = squeeze(instruction.text)
    const given = commands.filter((line) => text.includes(line))
    if (given.length === 0 || given.length * 2 < commands.length) return []
    const message = `gives away ${given.length} of the ${commands.length} characteristic lines of ${solveScript.path}, for example: ${given[0]?.slice(0, 80)}`
    return [{ lint: 'leak-solution-in-instruction', severity: 'error', path: instruction.path, message }]
  })

/** The instruction states the answer outright. */
export const answerInInstruction: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { instruction } = round
    if (!instruction) return []
    const answer = statedAnswers(instruction.text).find((stated) => isExpected(round, stated))
    if (answer === undefined) return []
    const message = `states the answer that the tests expect: ${answer.slice(0, 80)}`
    return [{ lint: 'leak-answer-in-instruction', severity: 'error', path: instruction.path, message }]
  })

/**
 * A file of expected output is visible to the agent. It may be intended (a file to be copied), so a person has to look.
 */
export const expectedInTheOpen: Lint = ({ rounds, environment }) =>
  rounds.flatMap(({ tests, instruction }) => {
    const answers = tests.filter((file) => expectedName.test(file.name) && linesOf(file.text).length >= 3)
    const open = [...environment, ...(instruction ? [instruction] : [])]
    return open.flatMap((file) =>
      answers
        .filter((answer) => contains(file, answer.text.trim()))
        .map(({ path }): Finding => {
          const message = `contains all of ${path}; if that is the answer, it gives the answer away`
          return { lint: 'leak-expected-output', severity: 'warning', path: file.path, message }
        }),
    )
  })

const expectedName = /(?:^|[/_.-])(?:expected|answers?|golden|reference)(?:[/_.-]|$)/i

/** "The answer is 42": the word after it, without surrounding punctuation. */
function statedAnswers(text: string): string[] {
  const stated = /\b(?:answer|solution)\s{0,4}(?:is|=|:)[\s:]{0,4}[`"'*]{0,3}([^\s`"'*]{2,200})/gi
  return [...text.matchAll(stated)]
    .map(([, word]) => (word ?? '').replace(/[.,;:!?)]+$/, ''))
    .filter((word) => word.length > 1)
}

/** A word that the tests compare with or the solution writes, and that is neither a path nor an everyday word. */
function isExpected({ tests, solution }: RoundFiles, word: string): boolean {
  if (word.includes('/') || /^[a-z]+$/i.test(word)) return false
  const whole = new RegExp(`(?<![\\w.-])${word.replace(/[^\w]/g, '\\$&')}(?![\\w-])`)
  return [...tests, ...solution].some(({ text }) => whole.test(text))
}

/** Lines of a script that are specific to this task: long enough, and not the usual opening. */
function telling({ text }: TextFile): string[] {
  const lines = linesOf(text).map(squeeze)
  return lines.filter((line) => line.length >= 20 && !/^(?:#|set -|cd |export |echo "?(?:$|[A-Z][a-z]+ing))/.test(line))
}

function bodyOf({ text }: TextFile): string {
  return text.replace(/^#![^\n]*\n/, '').trim()
}

function contains(file: TextFile, text: string): boolean {
  return file.text.replaceAll('\r\n', '\n').includes(text.replaceAll('\r\n', '\n'))
}

function takesFiles(name: string, line: string): boolean {
  if (/(?:^|\/)Dockerfile[^/]*$/.test(name)) return /^\s*(?:COPY|ADD)\s/i.test(line)
  return /(?:^|\/)[^/]*compose[^/]*\.ya?ml$/.test(name) && !/^\s*#/.test(line)
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
