import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDockerfile } from '../parse.ts'
import { findPinnable } from './find.ts'
import type { Manager } from './install.ts'
import { decidePins, type Known, renderPin, renderPinned } from './pin.ts'
import { parseVersions } from './versions.ts'

const file = 'environment/Dockerfile'
const digest = `sha256:${'ab'.repeat(32)}`
const anything: Known = {
  versions: ({ manager }) => ({ get: () => ({ apt: '1:2.3-4+b5~x', pip: '9.8.7', npm: '6.5.4' })[manager] }) as never,
  digest: () => digest,
}
const nothing: Known = { versions: () => new Map(), digest: () => null }

function pin(text: string, known = anything): { text: string; left: string[]; pins: string[] } {
  const { pins, left } = decidePins(findPinnable(text, file), known)
  return {
    text: renderPinned(text, pins),
    pins: pins.map(renderPin),
    left: left.map(({ written, line, why }) => `${line} ${written}: ${why}`),
  }
}

const base = `FROM debian@${digest}\n`
const run = (command: string) => pin(`${base}RUN ${command}\n`).text.slice(base.length + 4, -1)

describe('what is pinned', () => {
  test.each([
    ['apt-get install -y --no-install-recommends a b', 'apt-get install -y --no-install-recommends a=V b=V'],
    ['apt install -yq g++ libc6:amd64 "c=1.*"', 'apt install -yq g++=V libc6:amd64=V "c=V"'],
    ['apt-get -o X::Y=z -t sid install a', 'apt-get -o X::Y=z -t sid install a=V'],
    ['A=1 sudo -E B=2 apt-get install "a" \'b\'', 'A=1 sudo -E B=2 apt-get install "a=V" \'b=V\''],
    ['if true; then apt-get install a; fi', 'if true; then apt-get install a=V; fi'],
    ['["apt-get", "install", "-y", "a"]', '["apt-get", "install", "-y", "a=V"]'],
    [
      'apt-get update \\\n # why\n && apt-get install a \\\n\n  b',
      'apt-get update \\\n # why\n && apt-get install a=V \\\n\n  b=V',
    ],
    ['<<EOF\napt-get install a \\\n b\nEOF', '<<EOF\napt-get install a=V \\\n b=V\nEOF'],
    ['pip install x', 'pip install x==9.8.7'],
    [
      'pip3.11 install --no-cache-dir -i http://i "x[a,b]>=1,<2"',
      'pip3.11 install --no-cache-dir -i http://i "x[a,b]==9.8.7"',
    ],
    ['python3 -I -m pip install x[a] y', 'python3 -I -m pip install x[a]==9.8.7 y==9.8.7'],
    [`/v/bin/pip install 'x ~= 1 ; python_version > "3"'`, `/v/bin/pip install 'x==9.8.7; python_version > "3"'`],
    ['uv pip install --system x', 'uv pip install --system x==9.8.7'],
    ['pip install x"==1.*" y>=1', 'pip install x"==9.8.7" y==9.8.7>=1'],
    ['npm i -g a @b/c@latest d@^1', 'npm i -g a@6.5.4 @b/c@6.5.4 d@6.5.4'],
  ])('%j', (before, after) => {
    expect(run(before)).toBe(after.replaceAll('V', '1:2.3-4+b5~x'))
  })

  test('images keep their tag; stages and digests stay as they are', () => {
    const text = `FROM --platform=linux/amd64 debian:12 AS one\nFROM one\nFROM a/b@${digest}\n`
    expect(pin(text).text).toBe(text.replace('debian:12', `debian:12@${digest}`))
  })

  test('Windows line ends and a byte order mark stay', () => {
    expect(pin('\uFEFFFROM a@b\r\nRUN pip install x \\\r\n  y\r\n').text).toBe(
      '\uFEFFFROM a@b\r\nRUN pip install x==9.8.7 \\\r\n  y==9.8.7\r\n',
    )
  })
})

describe('what is left', () => {
  test.each([
    [
      'apt-get install $X ./x.deb a/sid b- lib*',
      ['$X: a variable', './x.deb: a file', 'a/sid: a release', 'b-: a package to remove', 'lib*: a pattern'],
    ],
    ['apt-get upgrade -y', ['upgrade: upgrades']],
    ['apt-get update && apt-get remove x && apt list', []],
    ['apt-get install a=1 && pip install x==1 y===2 && npm i -g z@1.2.3', []],
    [
      'pip install -r r.txt -e . git+https://x/y ./z w.whl "n @ https://x"',
      [
        'r.txt: a file of',
        '.: installed from',
        'git+https://x/y: an address',
        './z: a file',
        'w.whl: a file',
        'n @ https://x: an address',
      ],
    ],
    ['pip install --target=/x a && $V/pip install b', ['a: installed elsewhere (--target)', 'b: a variable decides']],
    [`pip install x'>='1`, ['x>=1: quoted in pieces']],
    ['npm install && npm install x && npm ci', ['x: installed into a project']],
    ['echo pip install x # pip install y', []],
    ['<<EOF\ncat <<X\npip install y\nX\nEOF', []],
    ['<<EOF\n#!/usr/bin/env python3\npip install y\nEOF', []],
  ])('%j', (command, whys) => {
    const text = `${base}RUN ${command}\n`
    const { left, ...pinned } = pin(text)
    expect(pinned.text).toBe(text)
    expect(left.length).toBe(whys.length)
    for (const why of whys) expect(left.join('\n')).toContain(why)
  })

  test('stages that a sandbox does not show, variables in FROM, and what is not known', () => {
    const text = 'ARG V=1\nFROM a:$V AS b\nRUN pip install x\nFROM c:1\nRUN pip install \\\n  y\n'
    expect(pin(text, nothing)).toEqual({
      text,
      pins: [],
      left: [
        '2 a:$V: a variable',
        '3 x: installed in a stage that the sandbox does not expose',
        '4 c:1: its digest is not known here',
        '6 y: not installed under this name',
      ],
    })
  })
})

describe('whom a sandbox asks', () => {
  const questions = (text: string) => findPinnable(text, file).pinnable.map(({ question }) => question)

  test('the same pip, as the same user, with the PATH of that line', () => {
    const text = 'FROM a@b\nENV V=/v\nRUN pip install x\nUSER app:app\nRUN /w/pip3 install y\nENV PATH="$V/bin:$PATH"\n'
    expect(questions(text)).toMatchObject([
      { argv: ['pip', 'list', '--format=json', expect.anything()], user: 'root', dropPath: '/v/bin:' },
      { argv: ['/w/pip3', 'list', '--format=json', expect.anything()], user: 'app', dropPath: '/v/bin:' },
    ])
  })

  test('a file that asks for more than can be followed here is still read', () => {
    const text = 'FROM a@b\nRUN --mount=type=bind,target=/x pip install y\n'
    expect(questions(text)).toMatchObject([{ user: null, dropPath: '' }])
  })
})

describe('what a sandbox says', () => {
  test('names and versions are read', () => {
    const dpkg = 'a\tamd64\t1:2\tinstalled\nb\tall\t3\tconfig-files\nc\tamd64\t1\tinstalled\nc\ti386\t2\tinstalled\n'
    expect(Object.fromEntries(parseVersions('apt', dpkg))).toEqual({
      a: '1:2',
      'a:amd64': '1:2',
      'c:amd64': '1',
      'c:i386': '2',
    })
    const pip = '[{"name":"My_Pack.age","version":"1.0.post1+cu12.1","editable_project_location":"/x"}]'
    expect(Object.fromEntries(parseVersions('pip', pip))).toEqual({ 'my-pack-age': '1.0.post1+cu12.1' })
    const npm = '{"dependencies":{"@a/b":{"version":"1.2.3-rc.1"},"broken":{"missing":true}}}'
    expect(Object.fromEntries(parseVersions('npm', npm))).toEqual({ '@a/b': '1.2.3-rc.1' })
  })

  test.each([
    ['apt', 'a\tall\t1; rm -rf /\tinstalled\nb\tall\t$(x)\tinstalled\nc\tall\t1:~x\tinstalled\nd\tall\t1 2\tinstalled'],
    ['pip', '[{"name":"a","version":"1; rm"},{"name":"b","version":"1\\nRUN x"},{"name":"c","version":"`x`"}]'],
    ['npm', '{"dependencies":{"a":{"version":"1.2.3 && x"},"b":{"version":"latest"}}}'],
    ['pip', 'Traceback (most recent call last)'],
    ['npm', '{"dependencies":[1]}'],
  ] as const)('%s that says something else is not believed: %j', (manager, answer) => {
    expect([...parseVersions(manager as Manager, answer)]).toEqual([])
  })

  test('whatever it says, nothing but a version gets into the file', () => {
    const line = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(line, (version) => {
        const known: Known = { versions: () => new Map([['x', version]]), digest: () => version }
        const { text } = pin('FROM a\nRUN apt-get install x && pip install x && npm i -g x\n', known)
        expect(text).toMatch(
          /^FROM a\nRUN apt-get install x[\w=.:+~-]* && pip install x[\w=.+]* && npm i -g x[\w@.-]*\n$/,
        )
      }),
    )
  })
})

describe('any Dockerfile', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9]{1,6}$/)
  const quoted = name.chain((text) => fc.constantFrom(text, `"${text}"`, `'${text}'`))
  const gap = fc.constantFrom(' ', '  ', ' \\\n    ', ' \\\n# a comment\n  ', '\t', ' \\\r\n ', ' \\\n\n ')
  const tool = fc.constantFrom(
    'apt-get install -y',
    'apt install',
    'pip install',
    'python3 -m pip install -q',
    'npm i -g',
  )
  const install = fc.tuple(tool, fc.array(fc.tuple(gap, quoted), { minLength: 1, maxLength: 4 }))
  const command = install.map(([start, words]) => start + words.flat().join(''))
  const other = fc.constantFrom('echo "a  b"', 'cd /x', 'rm -rf /var/lib/apt/lists/*', 'x=$(pip install no)')
  const joint = fc.constantFrom(' && ', ' && \\\n    ', '; ', ' || ')
  const runs = fc
    .array(fc.tuple(fc.oneof(command, other), joint), { minLength: 1, maxLength: 4 })
    .map((parts) => `RUN ${parts.map(([text, end], i) => (i < parts.length - 1 ? text + end : text)).join('')}`)
  const heredoc = fc
    .array(command, { maxLength: 3 })
    .map((lines) => `RUN <<EOF\n${lines.join('\n').replace(/\\\n[^ ]*\n/g, '\\\n')}\nEOF`)
  const plain = fc.constantFrom('# note', '', 'ENV A="b c"', 'WORKDIR /app', 'COPY . .', 'LABEL x=y')
  const dockerfile = fc
    .array(fc.oneof(runs, heredoc, plain), { maxLength: 6 })
    .map((lines) => ['FROM debian:12', ...lines].join('\n'))

  test('stays byte for byte when nothing is known', () => {
    fc.assert(
      fc.property(dockerfile, (text) => {
        expect(pin(text, nothing).text).toBe(text)
      }),
    )
  })

  test('pinned, is the same but for the versions, parses, and has nothing more to pin', () => {
    fc.assert(
      fc.property(dockerfile, (text) => {
        const pinned = pin(text)
        const versions = [`@${digest}`, '=1:2.3-4+b5~x', '==9.8.7', '@6.5.4']
        expect(versions.reduce((all, version) => all.replaceAll(version, ''), pinned.text)).toBe(text)
        const kinds = (of: string) => parseDockerfile(of, file).stages[0]!.instructions.map(({ kind }) => kind)
        expect(kinds(pinned.text)).toEqual(kinds(text))
        expect(pin(pinned.text)).toEqual({ ...pinned, pins: [] })
      }),
    )
  })
})
