import { Command } from '@commander-js/extra-typings'
import { runCommand } from '../app/flags/command.ts'
import { tracesOnly } from '../app/generate/from-parquet.ts'
import { loadTypedPipeline } from '../app/generate/load-pipeline.ts'
import { UserError } from '../core/errors.ts'
import { generateOptions, withOwnOptions } from './generate/options.ts'
import { runGenerate } from './generate/run-generate.ts'

const about =
  'Runs a data pipeline: turns rows of a source into tasks, checks each task, and runs agents on tasks to record traces.\n' +
  'FILE is your own pipeline file, or the name of a pipeline that comes with ot-agent, such as nl2bash. It comes first; FILE --help also lists its own options. With --from-parquet instead of FILE, agents run on packed tasks.\n' +
  'After a crash or Ctrl-C, run the same command again to resume. rejects.jsonl lists the rows that did not become a task, with the reason.'

/** `ot-agent generate`: the pipeline file is read before the other arguments, because it adds its own options. */
export default () =>
  new Command()
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument('[file]', 'a pipeline')
    .argument('[words...]', 'options')
    .action(async (file, words) => {
      if (file === undefined || file === '--help' || file === '-h') return helpWithoutPipeline(file)
      const isPacked = /^--from-parquet(=|$)/.test(file)
      if (file.startsWith('-') && !isPacked)
        throw new UserError(`expected the file of a pipeline first, got ${file}`, 'ot-agent generate FILE [options]')
      const loaded = isPacked ? tracesOnly() : await loadTypedPipeline(file)
      const { name, summary, options: own } = loaded.pipeline
      const make = () => {
        const command = generateOptions().description(`${about}\n\n${name}: ${summary}`)
        withOwnOptions(command, own)
        return command.action((options) => runGenerate(loaded, options))
      }
      await runCommand(make, ['ot-agent', 'generate', ...(isPacked ? [] : [file])], isPacked ? [file, ...words] : words)
    })

async function helpWithoutPipeline(file: string | undefined): Promise<void> {
  if (file === undefined)
    throw new UserError('expected the file of a pipeline, got none', 'for example: ot-agent generate nl2bash --limit 3')
  await runCommand(() => generateOptions().description(about), ['ot-agent', 'generate', 'FILE'], ['--help'])
}
