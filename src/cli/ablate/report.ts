import { join } from 'node:path'
import { type AblationReport, reportStudy } from '../../app/ablate/report.ts'
import { loadStudy } from '../../app/ablate/study.ts'
import { placeOf } from '../../app/ablate.ts'
import { explainDisk } from '../../app/disk-errors.ts'
import { writeAtomic } from '../../lib/files.ts'
import { type Page, printPage, renderHtml, renderMarkdown } from '../eval/page.ts'
import { printJson } from '../output.ts'
import { ablateOptions } from './options.ts'
import { ablationPage, ablationPlots } from './report-page.ts'

/** `ot-agent ablate report`: how the variants differ from the baseline. */
export default () =>
  ablateOptions()
    .description(
      'Compares every variant with the baseline, task by task: the difference with a 95 % interval, corrected for the number ' +
        'of comparisons. A difference within noise is reported as undecided.\n' +
        'Writes report.json, report.md and report.html next to the cells, and its plots as SVG files.',
    )
    .action(async (file, { out, json }) => {
      const study = await loadStudy(file)
      const dir = placeOf(study.name, out)
      const report: AblationReport = await reportStudy(study, dir)
      const page = ablationPage(report)
      await writePage(dir, 'report', page, report)
      for (const { name, svg } of ablationPlots(report)) await writeFile(join(dir, `report-${name}.svg`), svg)
      if (json) printJson(report)
      else printPage(page)
    })

/** Writes a result as JSON, Markdown and HTML. */
export async function writePage(dir: string, name: string, page: Page, result: object): Promise<void> {
  const files = { json: `${JSON.stringify(result, null, 2)}\n`, md: renderMarkdown(page), html: renderHtml(page) }
  for (const [ending, text] of Object.entries(files)) await writeFile(join(dir, `${name}.${ending}`), text)
}

function writeFile(path: string, text: string): Promise<void> {
  return explainDisk(path, () => writeAtomic(path, text))
}
