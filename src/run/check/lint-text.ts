import { mayModifySystemKey } from '../../core/task.ts'
import type { Finding, Lint } from './finding.ts'
import type { TextFile } from './task-files.ts'

/** A task needs an instruction. */
export const instructionMissing: Lint = ({ rounds }, task) =>
  rounds.flatMap(({ instruction, step }): Finding[] => {
    const path = instruction?.path ?? (step === null ? 'instruction.md' : `steps/${step}/instruction.md`)
    const told = step === null ? task.instruction : (task.steps.find(({ name }) => name === step)?.instruction ?? '')
    const words = told.split(/\s+/).filter((word) => /\w/.test(word)).length
    if (words === 0) return [{ lint: 'instruction-empty', severity: 'error', path, message: 'is empty' }]
    if (words >= 6) return []
    const message = `has only ${words} word${words === 1 ? '' : 's'}; the agent would have to guess the rest`
    return [{ lint: 'instruction-short', severity: 'warning', path, message }]
  })

/** Anything but true or false would silently be treated as false. */
export const systemKey: Lint = (_, { metadata }) => {
  const value = metadata[mayModifySystemKey]
  if (value === undefined || typeof value === 'boolean') return []
  const message = `[metadata] ${mayModifySystemKey}: expected true or false, got ${JSON.stringify(value)}`
  return [{ lint: 'system-key', severity: 'error', path: 'task.toml', message }]
}

/** Template text that was not filled in. */
export const scaffold: Lint = ({ rounds }) =>
  rounds.flatMap(({ instruction, testScript, solveScript }) => [
    ...leftOver(instruction, 'error', outsideFences(instruction?.text ?? '')),
    ...[testScript, solveScript].flatMap((file) => leftOver(file, 'warning', comments(file?.text ?? ''))),
  ])

const leftOvers =
  /^\W*(?:TODO|FIXME|TBD|XXX)(?:\s*$|\s*[:([])|\blorem ipsum\b|\b(?:describe|replace) (?:this|the|your) (?:task|instruction|text)s?\b.{0,20}\bhere\b|\byour (?:task|instruction)s?(?: \w+)? here\b/i

function leftOver(file: TextFile | null, severity: Finding['severity'], lines: readonly string[]): Finding[] {
  const line = file ? lines.find((text) => leftOvers.test(text)) : undefined
  if (!file || line === undefined) return []
  const message = `contains placeholder text: ${line.trim().slice(0, 80)}`
  return [{ lint: 'scaffold-text', severity, path: file.path, message }]
}

/** Code in an instruction may legitimately mention TODOs. */
function outsideFences(text: string): string[] {
  let fenced = false
  return text.split('\n').filter((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced
    return !fenced && !/^(?: {4}|\t)/.test(line)
  })
}

function comments(script: string): string[] {
  return script.split('\n').filter((line) => /^\s*#(?!!)/.test(line))
}
