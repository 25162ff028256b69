import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A Defects4J checkout with one project, whose repository has a history; returns the commit of the fix. */
export function makeCheckout(dir: string): string {
  const [, line = ''] = readFileSync('data/defects4j/fixture.jsonl', 'utf8').trim().split('\n')
  const { patch, triggers, relevant } = JSON.parse(line)
  const repo = join(dir, 'project_repos/tariffs.git')
  cpSync('data/defects4j/fixtures/tariffs', repo, { recursive: true })
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']
    return execFileSync('git', [...identity, ...args], { cwd: repo, encoding: 'utf8' }).trim()
  }
  git('init', '-q')
  git('add', '.')
  git('commit', '-q', '-m', 'TAR-7: Heavy things have a price below zero')
  const ref = git('rev-parse', 'HEAD')
  git('commit', '-q', '--allow-empty', '-m', 'Later')
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const project = 'framework/projects/Tariffs'
  write('framework/core/Project/Tariffs.pm', 'my $name = "tariffs";\n')
  write(
    `${project}/active-bugs.csv`,
    `bug.id,revision.id.buggy,revision.id.fixed,report.id,report.url\n1,x,${ref},TAR-7,u\n2,x,${ref},TAR-8,u\n`,
  )
  write(`${project}/patches/1.src.patch`, patch)
  write(
    `${project}/trigger_tests/1`,
    `--- ${triggers[0]}\njunit.framework.AssertionFailedError: expected:<1>\n\tat a.b.C\n`,
  )
  write(`${project}/relevant_tests/1`, `${relevant.join('\n')}\n`)
  write('framework/projects/lib/junit.jar', '')
  return ref
}
