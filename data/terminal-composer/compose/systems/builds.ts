import type { Draws } from 'ot-agent'
import { simpleWork } from '../files/simple-work.ts'
import { plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type Bug, breakProgram, drawBugs, repairShell } from './repair.ts'

const buildScript = `#!/bin/bash
# Builds pages from sources and parts: build.sh SRC OUT
set -eu
src=$1
out=$2
mkdir -p "$out"

expand() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      '@include '*) expand "$src/parts/\${line#@include }" ;;
      *) printf '%s\\n' "$line" ;;
    esac
  done < "$1"
}

parts() {
  local part
  for part in $(sed -n 's/^@include //p' "$1"); do
    echo "$src/parts/$part"
    parts "$src/parts/$part"
  done
}

fresh() {
  [ -e "$2" ] || return 1
  [ ! "$1" -nt "$2" ] || return 1
  local part
  for part in $(parts "$1"); do [ ! "$part" -nt "$2" ] || return 1; done
}

for page in "$src"/*.page; do
  name=$(basename "$page" .page)
  if fresh "$page" "$out/$name.html"; then echo "fresh $name"; continue; fi
  expand "$page" > "$out/$name.new"
  mv "$out/$name.new" "$out/$name.html"
  echo "built $name"
done

for old in "$out"/*.html; do
  name=$(basename "$old" .html)
  if [ ! -e "$src/$name.page" ]; then rm "$old"; echo "removed $name"; fi
done
`

/** Bugs of the build script. */
const buildBugs: readonly Bug[] = [
  [' || [ -n "$line" ]', ''],
  ['while IFS= read -r line', 'while read -r line'],
  ['while IFS= read -r line', 'while IFS= read line'],
  [') expand "$src/parts/', ') cat "$src/parts/'],
  ['    parts "$src/parts/$part"', '    true'],
  ['[ ! "$1" -nt "$2" ] || return 1', '[ ! "$2" -nt "$1" ] || return 1'],
  ['do [ ! "$part" -nt "$2" ] || return 1; done', 'do [ -e "$part" ] || return 1; done'],
  ['mv "$out/$name.new"', 'cp "$out/$name.new"'],
  ['then rm "$old"; echo', 'then echo'],
  ['printf \'%s\\n\' "$line"', 'echo $line'],
  ['[ -e "$2" ] || return 1', '[ -e "$2" ] || return 0'],
]

interface Site {
  readonly files: Readonly<Record<string, string>>
  readonly pages: readonly string[]
  readonly html: (page: string) => string
}

/** Pages and parts: `deep` is a part of the part `wide`, and every second page includes `wide`. */
function drawSite(random: Draws): Site {
  const text = () => `${'  '.repeat(random.int(0, 2))}${random.few(plainWords, 3).join(random.pick([' ', '  ']))}`
  const [pages, [wide = '', deep = '']] = [random.few(plainWords, random.int(4, 6)).sort(), ['head', 'menu']]
  const deepText = `${text()}\n${text()} \\ ${text()}`
  const wideText = `${text()}\n@include ${deep}\n${text()}\n`
  const bodies = new Map(
    pages.map((page, nth) => [
      page,
      nth % 2 === 0 ? `${text()}\n@include ${wide}\n  ${text()}` : `${text()}\n${text()}\n`,
    ]),
  )
  const files: Record<string, string> = { [`parts/${wide}`]: wideText, [`parts/${deep}`]: deepText }
  for (const [page, body] of bodies) files[`${page}.page`] = body
  const ended = (body: string) => (body.endsWith('\n') ? body : `${body}\n`)
  const full = wideText.replace(`@include ${deep}\n`, () => ended(deepText))
  return { files, pages, html: (page) => ended(bodies.get(page) ?? '').replace(`@include ${wide}\n`, () => full) }
}

/** Builds twice, touches a part of a part and then a page, and removes a page. */
function probeOf(script: string, label: string, { pages, html }: Site) {
  const [gone = '', touched = ''] = pages
  const told = (built: (nth: number) => boolean, all = pages) =>
    all.map((page) => `${built(pages.indexOf(page)) ? 'built' : 'fresh'} ${page}\n`).join('')
  const left = pages.slice(1)
  const command = `cp -r "$hidden/${label}" "$scratch/src"
cd "$scratch"
old() { find src -type f -exec touch -d '2001-01-01 00:00' {} +; }
build() { bash ${script} src out; }
old; build; cat out/*.html
echo again; build
echo part; touch -d tomorrow src/parts/menu; build; old
echo page; touch -d tomorrow src/${touched}.page; build; old
echo gone; rm src/${gone}.page; build
ls out; cat out/*.html`
  const stdout = [
    told(() => true),
    pages.map(html).join(''),
    'again\n',
    told(() => false),
    'part\n',
    told((nth) => nth % 2 === 0),
    'page\n',
    told((nth) => nth === 1),
    'gone\n',
    told(() => false, left),
    `removed ${gone}\n`,
    left.map((page) => `${page}.html\n`).join(''),
    left.map(html).join(''),
  ]
  return { command, stdout: stdout.join('') }
}

const repairBuild: Operation = {
  name: 'repair-build',
  domains: ['builds'],
  make: (draw) => {
    const { random, level, root } = draw
    const bugs = drawBugs(random, buildScript, buildBugs, byLevel(level, 1, 2, random.int(3, 4)))
    const broken = breakProgram(buildScript, bugs)
    if (broken === null) return null
    const [path, src] = [
      random.pick(['build.sh', 'make-site.sh', 'tools/build.sh']),
      random.pick(['src', 'site', 'pages']),
    ]
    const example = drawSite(random)
    const hidden: Record<string, string> = {}
    const probes = ['1', '2'].map((label) => {
      const site = drawSite(random.fork(`site ${label}`))
      for (const [name, text] of Object.entries(site.files)) hidden[`${label}/${name}`] = text
      return probeOf(`${root}/${path}`, label, site)
    })
    const sources = Object.fromEntries(
      Object.entries(example.files).map(([name, text]) => [`${src}/${name}`, file(text)]),
    )
    return simpleWork(draw, {
      domain: 'builds',
      operation: 'repair-build',
      shape: 'site-generator',
      faults: bugs.map(() => 'script-bug'),
      ask: tellBuild(draw, path, src, bugs.length),
      before: { ...sources, [path]: file(broken, '755') },
      after: { ...sources, [path]: { kind: 'some' } },
      probes,
      hidden,
      solve: repairShell(path, broken, buildScript),
    })
  },
}

function tellBuild({ random, words, root }: Draw, path: string, src: string, count: number): string[] {
  const some = count === 1 ? 'one bug' : `${count} bugs`
  return [
    words.say(
      random.pick([
        `\`${root}/${path}\` builds a small website, and it contains ${some}. Fix the script in place so that it does what is described below.`,
        `The build of a website is broken: there ${count === 1 ? 'is' : 'are'} ${some} in \`${root}/${path}\`. Fix that script.`,
        `Fix the incremental build script \`${root}/${path}\`, which contains ${some}.`,
      ]),
      [
        `Please debug \`${root}/${path}\`, the script that builds a small website. There ${count === 1 ? 'is' : 'are'} ${some} in it. Edit it in place until it behaves as described here.`,
        `\`${root}/${path}\` should build a website from its sources as described below, but ${some} ${count === 1 ? 'keeps' : 'keep'} it from doing so. Correct the script where it is.`,
        `A script that builds websites, \`${root}/${path}\`, has ${some}. Your job is to repair that file; what it should do is explained below.`,
        `What is wrong with our website build? Its script, \`${root}/${path}\`, has ${some}. Find and fix ${count === 1 ? 'it' : 'them'} in the script itself.`,
        `To repair: the incremental build script \`${root}/${path}\`, with ${some} in it. Its correct behavior is described here; change the script in place.`,
      ],
    ),
    words.say(
      random.pick([
        `\`bash ${root}/${path} SRC OUT\` turns every \`NAME.page\` in the folder SRC into \`NAME.html\` in the folder OUT, creating OUT if necessary. A line \`@include PART\` in a page is replaced by the lines of \`parts/PART\` in SRC; parts may include other parts in the same way. All other lines are copied unchanged, including their spaces and backslashes; if the last line has no newline, one is added.`,
        `It is called as \`bash ${root}/${path} SRC OUT\`. For each page, a file \`NAME.page\` in SRC, it writes \`NAME.html\` to OUT (a folder that may not exist yet). Lines are copied unchanged, including spaces and backslashes, except that a line \`@include PART\` is replaced by the contents of the file \`parts/PART\` in SRC, which may contain such lines itself. Every line of the result ends with a newline, even if the last line of a source file does not.`,
      ]),
      [
        `The call is \`bash ${root}/${path} SRC OUT\`, with two folders; OUT is created if it does not exist. SRC holds the pages, files \`NAME.page\`, and each of them becomes \`NAME.html\` in OUT. Wherever a line of a page is \`@include PART\`, the lines of the file \`parts/PART\` in SRC take its place, and the same holds for such lines within parts. Any other line stays exactly as it is, with all its spaces and backslashes. Where the last line of a source file has no newline, it gets one in the output.`,
        `What the script does, called as \`bash ${root}/${path} SRC OUT\`: out of each file \`NAME.page\` in the folder SRC, it makes \`NAME.html\` in the folder OUT (and it creates that folder if necessary). A line \`@include PART\` stands for the lines of the file \`parts/PART\` in SRC, which can include further parts in the same way. All the other lines are reproduced without any change, spaces and backslashes included. If there is no newline after the last line of a source file, one is added in the output.`,
        `Usage: \`bash ${root}/${path} SRC OUT\`. Input: the files \`NAME.page\` in the folder SRC. Output: a file \`NAME.html\` for each of them in the folder OUT, which the script creates if it is missing. Every line \`@include PART\` is replaced by the lines of \`parts/PART\` in SRC, at any depth, as parts may have such lines, too; all other lines are passed on as they are, without losing spaces or backslashes. Each line of the output ends with a newline, even where a source file ends without one.`,
      ],
    ),
    words.say(
      random.pick([
        'A page is built only if its result is missing or older than the page or than any part that goes into it, directly or through other parts. The script prints `built NAME` or `fresh NAME` for each page, sorted by name. Then it deletes results whose page no longer exists and prints `removed NAME` for each of them. Nothing but the results may remain in OUT.',
        'Unnecessary work is skipped: if the result exists and neither the page nor any of the parts in it (at any depth) is newer, the script prints `fresh NAME`; otherwise it builds the page and prints `built NAME`. Pages are handled in order of their names. Afterwards, every `.html` file in OUT without a page is removed, with the line `removed NAME`. No other files may remain in OUT.',
      ]),
      [
        'The script builds a page if it has no result yet, or if the page or any part in it, included directly or by other parts, is newer than the result. It prints `built NAME` for such a page and `fresh NAME` for any other, in the order of their names. At the end, it removes each result whose page is gone and prints `removed NAME` for it. Nothing other than results may be left in OUT.',
        'The build is incremental. For each page, sorted by name, one line is printed: `built NAME` if it was built, `fresh NAME` if that was not necessary. It is not necessary if there is a result that is no older than the page and all the parts that go into it, including the parts of parts. Once all pages are done, every `.html` file in OUT that has no page any more is deleted, and `removed NAME` is printed for it. After a run, OUT contains the results and nothing else.',
        'When is a page built? If its result does not exist, or if the page itself or any part in it (also a part of a part, and so on) is newer than the result. The script goes through the pages by name and prints `built NAME` for those that it builds and `fresh NAME` for the rest. After that, results without a page are deleted, with a line `removed NAME` for each of them. Only results may remain in OUT.',
        'Results that are up to date are not built again. A result is up to date if it exists and if neither its page nor any part that the page includes, at whatever depth, is newer. For every page, in the order of names, the script prints `fresh NAME` if the result is up to date; if not, it builds the page and prints `built NAME`. Finally it deletes every `.html` file in OUT whose page does not exist any longer and prints `removed NAME` each time. Apart from the results, no files may stay in OUT.',
      ],
    ),
    words.say(
      random.pick([
        `You can try it on \`${root}/${src}\`, but do not change that folder. The tests use other sites.`,
        `Try it on \`${root}/${src}\`, which must not change; write the output somewhere else, such as a folder in /tmp. The script will be tested on different sites.`,
      ]),
      [
        `\`${root}/${src}\` is an example to experiment with, but that folder must stay unchanged. The script will be tested with other sites.`,
        `There is a sample site in \`${root}/${src}\`: use it for trying things out, without changing it, and send the output elsewhere, for example to a folder in /tmp. The tests run on different sites.`,
        `For experiments, take \`${root}/${src}\`, but only read from that folder, and let the output go to another place. What counts is that the script works on other sites, too: those are used in the tests.`,
        `Want to try it out? \`${root}/${src}\` can serve as SRC, as long as nothing in it changes. The tests are done with other sites.`,
        `Do not change \`${root}/${src}\`, the example site; you may build it into some other folder to see what happens. Different sites will be used for the tests.`,
      ],
    ),
  ]
}

/** Operations on builds. */
export const buildOperations: readonly Operation[] = [repairBuild]
