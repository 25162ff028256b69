// Makes new tasks and lets the student of this package try each once:
//
//   node studies/transfer.mjs VARIANT OUT
//
// The tasks are in OUT/new, the trials in OUT/job. The variants are those of transfer.yaml.
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const [variant, out] = process.argv.slice(2)
const here = import.meta.dirname
const [known, others] = [
  'archives,checksums,clinic,config,dates,docs,encoding,energy,farming,files,inventory,library,links,network,payroll,permissions,sales,school,scripts,sensors,text,tickets,transport',
  'accounts,builds,http,logs,migrations,processes,queues,schedules,sockets,stores',
]
const unseen = 'flatten,rank-in-group,dead-references,pivot-count,render-template'
const usual = ['terminal-composer', '--domains', known, '--without', unseen]

/** `as-made` and `reworded` make 200 tasks, of which 100 have other words. */
const sources = {
  'as-made': [...usual, '--first', '9000', '--count', '200'],
  reworded: [...usual, '--first', '9000', '--count', '200'],
  'longer-names': [...usual, '--first', '12000', '--count', '100'],
  'other-kinds': ['terminal-composer', '--domains', known, '--operations', unseen, '--first', '9000', '--count', '100'],
  'other-subjects': ['terminal-composer', '--domains', others, '--first', '9000', '--count', '100'],
}

const made = join(resolve(out), 'new')
otAgent('generate', ...sources[variant], '--no-check', '--overwrite', '--output-dir', made)
if (variant === 'as-made' || variant === 'reworded')
  execFileSync(process.execPath, [join(here, 'reword.mjs'), join(made, 'tasks'), variant])
const student = ['-m', 'llama/composer-6m', '--ak', 'temperature=0', '--ak', 'max_turns=12']
otAgent(
  'run',
  '-p',
  join(made, 'tasks'),
  '-a',
  'terminus-2',
  ...student,
  '-o',
  out,
  '--job-name',
  'job',
  '-n',
  '8',
  '-q',
)

function otAgent(...words) {
  execFileSync(process.execPath, [join(here, '../bin/ot-agent.js'), ...words], { stdio: 'inherit' })
}
