import { Option } from '@commander-js/extra-typings'
import { labelOf } from '../../app/ablate/cells.ts'
import { type MovedCells, packCells, unpackCells } from '../../app/ablate/pack.ts'
import { refuseOverBudget } from '../../app/ablate/plan.ts'
import { type CellState, runCells } from '../../app/ablate/run.ts'
import { loadStudy } from '../../app/ablate/study.ts'
import { placeOf } from '../../app/ablate.ts'
import { several, wholeNumber } from '../../app/flags/values.ts'
import { UserError } from '../../core/errors.ts'
import { programName } from '../../lib/program-name.ts'
import { note, printJson, printTable } from '../output.ts'
import { followCells } from './follow-cells.ts'
import { ablateOptions } from './options.ts'

/** `ot-agent ablate run`: measures every variant, or those still missing. */
export default () =>
  ablateOptions()
    .description(
      'Runs the cells of an ablation: for each variant, factor and seed, first the dataset, then its outcome. Stages that ' +
        'variants share run once.\n' +
        'Finished cells are kept: after a crash, run the same command again to resume. A cell that fails does not stop the ' +
        'others; the command then exits with 3.',
    )
    .option('--only <variant>', 'run only this variant; * matches any characters; repeatable', several)
    .option('-n, --concurrency <n>', 'number of cells whose commands run at the same time', wholeNumber(1), 1)
    .addOption(
      new Option('--stage <stage>', 'make only the datasets, or run only the commands of cells that have a dataset')
        .choices(['data', 'outcome', 'both'] as const)
        .default('both' as const),
    )
    .option('--unpack <file>', 'before the run, unpack the cells of a pack into the directory')
    .option(
      '--pack <file>',
      'after the run, write the cells to a pack: results of finished ones, datasets of the others',
    )
    .option('-q, --quiet', 'do not print the progress of recipes')
    .action(async (file, { out, only, concurrency, stage, quiet = false, json, pack, unpack }) => {
      const study = await loadStudy(file)
      if (study.search)
        throw new UserError(`${file}: expected an ablation, got a search`, `ot-agent ablate search ${file} runs it`)
      const dir = placeOf(study.name, out)
      if (unpack !== undefined) note(`unpacked ${movedWords(await unpackCells(unpack, dir))}`)
      if (stage !== 'outcome') await refuseOverBudget(study, dir)
      const asked = { dir, only, concurrency, stage }
      const states = await followCells(quiet, (follower) => runCells(study, asked, follower))
      if (pack !== undefined) note(`packed ${movedWords(await packCells(dir, pack))}`)
      if (states.some(({ state }) => state === 'failed')) process.exitCode = 3
      if (json) printJson({ schema: 'ablate-run/1', dir, cells: states })
      else report(states, { file, out })
    })

function movedWords({ finished, ready }: MovedCells): string {
  return `${finished} finished cells and ${ready} with their datasets`
}

function report(
  states: readonly CellState[],
  place: { readonly file: string; readonly out: string | undefined },
): void {
  printTable(
    ['cell', 'state', 'id'],
    states.map(({ cell, state, id }) => [labelOf(cell), state, id]),
  )
  const count = (state: CellState['state']) => states.filter((each) => each.state === state).length
  note(`${count('done')} done, ${count('ready')} ready, ${count('failed')} failed${nextStep(count, place)}`)
}

function nextStep(
  count: (state: CellState['state']) => number,
  { file, out }: { readonly file: string; readonly out: string | undefined },
): string {
  const place = out === undefined ? file : `${file} -o ${out}`
  if (count('done') > 0) return `; ${programName()} ablate report ${place} compares them`
  if (count('ready') > 0) return `; ${programName()} ablate run ${place} --stage outcome runs their commands`
  return ''
}
