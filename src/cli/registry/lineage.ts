import { Command } from '@commander-js/extra-typings'
import { findLineage } from '../../app/registry/query.ts'
import type { Ancestor } from '../../core/view-board.ts'
import { oneLine } from '../../lib/visible.ts'
import { printJson } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry lineage`: what a model or dataset was made from. */
export default () =>
  new Command()
    .description(
      'Shows what a model or dataset was made from: datasets, recipes, tasks, teachers, base models and training runs.',
    )
    .argument('<name>', 'name of a model or dataset')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async (name, { json, ...place }) => {
      const found = await findLineage(place, name)
      if (json) return printJson({ schema: 'registry-lineage/1', ...found })
      for (const line of linesOf(found, '')) process.stdout.write(`${line}\n`)
    })

function linesOf(one: Ancestor, indent: string): string[] {
  const further = `${indent}  `
  const facts = Object.entries(one.facts).filter(([, value]) => value !== null)
  const sources = one.sources.map(({ kind, count, first }) => {
    const more = count > first.length ? ', ...' : ''
    return `${count} ${kind}${count === 1 ? '' : 's'}: ${first.join(', ')}${more}`
  })
  const about = [...facts.map(([key, value]) => `${key.replaceAll('_', ' ')}: ${value}`), ...sources]
  return [
    `${indent}${oneLine(`${one.kind} ${one.name}${one.registered ? '' : ' (not registered)'}`)}`,
    ...about.map((line) => `${further}${oneLine(line)}`),
    ...one.parents.flatMap((parent) => linesOf(parent, further)),
  ]
}
