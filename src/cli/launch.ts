import { Command, Option } from '@commander-js/extra-typings'
import { several } from '../app/flags/values.ts'
import { planLaunch } from '../app/launch/plan-launch.ts'
import { readLaunch } from '../app/launch/read-launch.ts'
import { settingGroups, settingSpecs } from '../app/launch/schema.ts'
import { submitLaunch } from '../app/launch/submit-launch.ts'
import { UserError } from '../core/errors.ts'
import { programName } from '../lib/program-name.ts'
import { noteEvent, printPlan, printSettings } from './launch/print-launch.ts'
import { note, printJson } from './output.ts'

const about =
  'Sends work to a cluster: plans the jobs, writes their scripts, submits them and records what was done.\n' +
  'Every flag may also be spelled with underscores, set in a file (--config), or come from the cluster file; flags override both.'

const more = `
Other commands: launch status, logs, cancel, watch, resume, list; launch cluster list, check, init.

  ot-agent launch --job-type datagen --datagen-script nl2bash --datagen-target-repo org/tasks \\
    --datagen-engine vllm_local --datagen-extra-args "--stage both --limit 200" --cluster vista --dry-run
`

/** `ot-agent launch`: runs the same work on a cluster. */
export default () => {
  const command = new Command().description(about).usage('--job-type TYPE [options]').helpOption(false)
  for (const spec of settingSpecs) command.addOption(optionOf(spec))
  const help = new Option('-h, --help [group]', 'show this page, or all options of a group')
  command.addOption(help.helpGroup(`${settingGroups[0]?.title}:`))
  return command.action(async () => {
    const { help, ...flags }: Record<string, unknown> = command.opts()
    if (help !== undefined) return printHelp(command, help)
    await launch(flags)
  })
}

async function launch(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const read = await readLaunch(flags, 'flag')
  const { settings } = read
  const asJson = settings.is('json')
  if (settings.is('explain')) return printSettings(settings.list(), asJson)
  const plan = await planLaunch(read)
  if (settings.is('dry_run')) return printPlan(plan, asJson)
  const command = ['ot-agent', ...process.argv.slice(2)]
  const { dir, submitted } = await submitLaunch(plan, { settings, command, emit: noteEvent })
  const { id, experimentsDir } = plan.launch
  if (asJson) return printJson({ schema: 'launch/1', id, dir, submitted })
  process.stdout.write(`${id}\n`)
  note(`recorded in ${dir}; to see its state: ${programName()} launch status ${id} --experiments-dir ${experimentsDir}`)
}

/**
 * Prints one page: the options shared by every launch and the names of the other groups, or the options of the
 * requested groups.
 */
function printHelp(command: Command, asked: unknown): void {
  const [first, ...rest] = settingGroups
  const chosen =
    typeof asked === 'string' ? settingGroups.filter(({ words }) => words.includes(asked.toLowerCase())) : [first]
  if (chosen.length === 0)
    throw new UserError(
      `--help: no group of options ${JSON.stringify(asked)}`,
      `there are: ${[...new Set(settingGroups.flatMap(({ words }) => words))].join(', ')}`,
    )
  command.configureHelp({
    visibleOptions: ({ options }) =>
      options.filter(
        ({ hidden, helpGroupHeading }) => !hidden && chosen.some((group) => helpGroupHeading === `${group?.title}:`),
      ),
  })
  const lines = rest.map(({ words, title }) => `  ${programName()} launch --help ${words[0]?.padEnd(24)}${title}`)
  const others = `\nMore options:\n${lines.join('\n')}\n`
  process.stdout.write(`${command.helpInformation()}${chosen.includes(first) ? others + more : ''}`)
}

function optionOf({ name, short, kind, help, preset, group, hidden = false }: (typeof settingSpecs)[number]): Option {
  const flag = `${short === undefined ? '' : `${short}, `}--${name.replaceAll('_', '-')}`
  const takes = kind === 'switch' ? `${flag} [true|false]` : `${flag} <${kind === 'words' ? 'arguments' : kind}>`
  const shown = preset === undefined || preset === false ? help : `${help} (default: ${preset})`
  const option: Option = new Option(takes, shown).helpGroup(`${group}:`).hideHelp(hidden)
  return kind === 'list' ? option.argParser<readonly string[]>(several) : option
}
