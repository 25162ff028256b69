import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { UserError } from '../core/errors.ts'
import { readDocument } from '../formats/harbor-job/read-config.ts'
import { orUserError } from '../formats/harbor-task/read.ts'
import { packageRoot } from '../lib/package-root.ts'
import { secretsFileOf } from '../run/launch/secrets.ts'
import { type SettingLayer, type SettingSpec, Settings } from '../run/launch/settings.ts'
import { chooseCluster } from './launch/clusters.ts'
import { settingSpecs } from './launch/flags.ts'
import { clusterSettings, makeLaunch } from './launch/make-launch.ts'
import { explainSettings } from './launch/print-launch.ts'
import { showLaunch, submitLaunch } from './launch/submit-launch.ts'

const about =
  'Sends work to a cluster: plans the jobs, composes their scripts, hands them over and writes down what was done.\n' +
  'Every flag may also be written with underscores, set in a file (--config), or come from the cluster; flags override both.'

const more = `
Other commands: launch status, logs, cancel, watch, resume, list; launch cluster list, check, init.

  ot-agent launch --job-type datagen --datagen-script data/nl2bash/generate.ts --datagen-target-repo org/tasks \\
    --datagen-engine vllm_local --datagen-extra-args "--stage both --limit 200" --cluster vista --dry-run
`

/** `ot-agent launch`: the same work on a cluster. */
export default () => {
  const command = new Command().description(about).usage('--job-type TYPE [options]').helpOption(false)
  const options = new Map(settingSpecs.map((spec) => [spec, optionOf(spec)]))
  for (const option of options.values()) command.addOption(option)
  command.addOption(new Option('-S <key=value>', 'the same as --skyrl').argParser(several).hideHelp())
  command.addOption(new Option('-h, --help [group]', 'this page, or all options of a group').helpGroup(`${groups[0]}:`))
  return command.action(async () => {
    const given: Record<string, unknown> = command.opts()
    if (given.help !== undefined) return printHelp(command, given.help)
    const flags = Object.fromEntries([...options].map(([{ name }, option]) => [name, given[option.attributeName()]]))
    const skyrl = [...list(flags.skyrl), ...list(given.S)]
    await launch({ ...flags, ...(skyrl.length > 0 && { skyrl }) })
  })
}

const groups = [...new Set(settingSpecs.filter(({ hidden }) => !hidden).map(({ group }) => group))]

/** The words that ask for a group: `Training (sft, pretokenize)` is asked for by training, sft and pretokenize. */
function wordsOf(group: string): readonly string[] {
  const [, title = '', types = ''] = /^([^(]*?)\s*(?:\((.*)\))?$/.exec(group.toLowerCase()) ?? []
  const word = title.replace(/^(the|arguments of) /, '').replace(/^tasks that are /, '')
  return [word.replaceAll(' ', '-'), ...types.split(', ').filter(Boolean)]
}

/** One page: the options of every launch and the names of the other groups; or the options of the groups that are asked for. */
function printHelp(command: Command, asked: unknown): void {
  const [first = '', ...rest] = groups
  const chosen =
    typeof asked === 'string' ? groups.filter((group) => wordsOf(group).includes(asked.toLowerCase())) : [first]
  if (chosen.length === 0)
    throw new UserError(
      `--help: no group of options ${JSON.stringify(asked)}`,
      `there are: ${[...new Set(groups.flatMap(wordsOf))].join(', ')}`,
    )
  command.configureHelp({
    visibleOptions: ({ options }) =>
      options.filter(
        ({ hidden, helpGroupHeading }) => !hidden && chosen.some((group) => helpGroupHeading === `${group}:`),
      ),
  })
  const lines = rest.map((group) => `  ot-agent launch --help ${wordsOf(group)[0]?.padEnd(24)}${group}`)
  const others = `\nMore options:\n${lines.join('\n')}\n`
  process.stdout.write(`${command.helpInformation()}${chosen.includes(first) ? others + more : ''}`)
}

async function launch(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const file = typeof flags.config === 'string' ? await fileLayer(flags.config) : []
  const early = new Settings(settingSpecs, [...file, { origin: 'flag', values: flags }])
  const { cluster } = await chooseCluster(early.text('cluster') ?? early.text('name'))
  const place: SettingLayer = { origin: `cluster ${cluster.name}`, values: clusterSettings(cluster) }
  const settings = new Settings(settingSpecs, [place, ...file, { origin: 'flag', values: flags }])
  if (settings.is('explain')) return explainSettings(settings)
  const isDry = settings.is('dry_run')
  const { launch: planned, notes } = await makeLaunch(settings, {
    cluster,
    stamp: isDry ? 'DRY-RUN' : stampNow(),
    cwd: process.cwd(),
    program: [process.execPath, join(packageRoot, 'bin/ot-agent.js')],
    secretsFile: secretsFileOf(process.env),
  })
  if (isDry) return showLaunch(planned, notes, settings)
  await submitLaunch(planned, notes, settings)
}

/** A file of settings, spelt like the flags. */
async function fileLayer(path: string): Promise<SettingLayer[]> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = readDocument(text, path, path.endsWith('.json') ? 'json' : 'yaml')
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new UserError(
      `${path}: expected settings, one name and value a line, got something else`,
      'for example job_type: datagen',
    )
  return [{ origin: `file ${path}`, values: { ...document } }]
}

function optionOf({
  name,
  kind,
  help,
  preset,
  group,
  hidden = false,
}: SettingSpec): Option<string, undefined, undefined, undefined, false> {
  const flag = `--${name.replaceAll('_', '-')}`
  const takes = kind === 'switch' ? `${flag} [true|false]` : `${flag} <${kind === 'words' ? 'arguments' : kind}>`
  const shown = preset === undefined || preset === false ? help : `${help} (default: ${preset})`
  const option = new Option(takes, shown).helpGroup(`${group}:`).hideHelp(hidden)
  return (kind === 'list' ? option.argParser(several) : option) as Option<
    string,
    undefined,
    undefined,
    undefined,
    false
  >
}

function several(text: string, before: unknown): string[] {
  return [...list(before), text]
}

function list(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function stampNow(): string {
  const now = new Date().toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return `${now}-${randomBytes(2).toString('hex')}`
}
