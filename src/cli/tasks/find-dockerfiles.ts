import { Command } from '@commander-js/extra-typings'
import { several, wholeNumber } from '../../app/flags/values.ts'
import { findDockerfiles, usualLicenses } from '../../app/tasks/find-dockerfiles.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent tasks find-dockerfiles`: collects published Dockerfiles, from which environments are made, into a file. */
export default () =>
  new Command()
    .description(
      'Searches GitHub for Dockerfiles that contain a word, and writes those with an accepted license to a file for `generate ' +
        'data/perturbed-docker/generate.ts --strategy search --published FILE`.\n' +
        'The token comes from GITHUB_TOKEN or GH_TOKEN and is never stored. GitHub allows about ten searches a minute; the ' +
        'command waits for its rate limits, and running it again resumes.',
    )
    .argument('<words...>', 'words to search for, one search per word, such as pandas')
    .requiredOption('--out <file>', 'JSON Lines file to write; earlier results are kept')
    .option('--limit <n>', 'files per search (default: 20)', wholeNumber(1))
    .option(
      '--license <id>',
      `accepted license of the repository, by its SPDX id; repeatable (default: ${usualLicenses.join(', ')})`,
      several,
    )
    .option('--max-bytes <n>', 'skip larger files (default: 20000)', wholeNumber(1))
    .option('--json', 'print the result as JSON')
    .action(async (keywords, { out, limit, license: licenses, maxBytes, json }) => {
      const interrupt = interruptSignal()
      try {
        const request = { keywords, out, limit, licenses, maxBytes }
        const found = await findDockerfiles(request, { env: process.env, signal: interrupt.signal, notify: note })
        if (json) return printJson({ schema: 'found-dockerfiles/1', ...found })
        const left = Object.entries(found.skipped).map(([why, count]) => `${why} ${count}`)
        const skipped = left.length === 0 ? '' : `; skipped: ${left.join(', ')}`
        process.stdout.write(`${found.files} Dockerfiles of ${found.repositories} repositories in ${out}${skipped}\n`)
      } finally {
        interrupt.stop()
      }
    })
