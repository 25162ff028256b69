// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are Dockerfile variables, not ours.
import { describe, expect, test } from 'vitest'
import { parseDockerfile } from './parse.ts'
import { planDockerfile } from './plan.ts'
import type { Plan, PlannedStage, Step } from './step.ts'

const file = 'environment/Dockerfile'

function plan(text: string): Plan {
  return planDockerfile(parseDockerfile(text, file), 'linux/arm64')
}

function last(text: string): PlannedStage {
  return plan(text).stages.at(-1)!
}

function steps(text: string): readonly Step[] {
  return last(`FROM base\n${text}`).steps
}

describe('variables', () => {
  test('RUN gets ARGs and ENVs as its environment and is not expanded itself', () => {
    expect(steps('ARG a=1\nENV b=$a c="${b:-none}"\nENV d=$b\nRUN echo $a')).toMatchObject([
      { kind: 'run', argv: ['/bin/sh', '-c', 'echo $a'], env: { a: '1', b: '1', c: 'none', d: '1' } },
    ])
  })

  test('ENV wins over ARG, and only ENV is left in the image', () => {
    const stage = last('FROM base\nENV x=env\nARG x=arg y=2\nRUN true')
    expect(stage.steps).toMatchObject([{ env: { x: 'env', y: '2' } }])
    expect(stage.config.env).toEqual({ x: 'env', PATH: expect.stringContaining('/usr/bin') })
  })

  test('ENV can add to the PATH', () => {
    expect(last('FROM base\nENV PATH=/opt/bin:$PATH').config.env.PATH).toMatch(/^\/opt\/bin:.*\/usr\/bin/)
  })

  test('an ARG before FROM is seen in FROM, and in a stage only when declared again', () => {
    const stage = last('ARG v=3 w=x$v\nFROM python:$v\nARG w\nRUN true')
    expect(stage.base).toEqual({ image: 'python:3' })
    expect(stage.steps).toMatchObject([{ env: { w: 'x3' } }])
    expect(stage.steps[0]).not.toHaveProperty('env.v')
  })

  test('the platform is known to those who ask', () => {
    expect(last('FROM base\nARG TARGETARCH\nRUN true').steps).toMatchObject([{ env: { TARGETARCH: 'arm64' } }])
  })

  test('a word that cannot be expanded throws with its line', () => {
    expect(() => steps('RUN true\nWORKDIR ${x')).toThrow(`${file}:3: `)
  })
})

describe('what is in force', () => {
  test('WORKDIR adds up, USER and SHELL hold for what follows', () => {
    expect(
      steps('WORKDIR /a/\nWORKDIR b/../c\nUSER me:us\nSHELL ["/bin/bash", "-ec"]\nRUN x\nRUN ["y"]\nWORKDIR /'),
    ).toMatchObject([
      { kind: 'directory', path: '/a', user: undefined },
      { kind: 'directory', path: '/a/c', user: undefined },
      { argv: ['/bin/bash', '-ec', 'x'], user: 'me:us', workdir: '/a/c' },
      { argv: ['y'], user: 'me:us', workdir: '/a/c' },
    ])
  })

  test('the image keeps workdir, user, entry point and health check', () => {
    const text = 'FROM base\nWORKDIR /w\nUSER 1000\nENTRYPOINT exec x\nCMD ["y"]\nHEALTHCHECK CMD ["curl", "a b"]'
    expect(last(text).config).toMatchObject({
      workdir: '/w',
      user: '1000',
      entrypoint: ['/bin/sh', '-c', 'exec x'],
      healthcheck: { command: "curl 'a b'", intervalSec: 30, retries: 3 },
    })
  })

  test('a cache mount and a foreign platform are noted', () => {
    const { notes } = plan('FROM --platform=linux/amd64 base\nRUN --mount=type=cache,target=/x true')
    expect(notes).toEqual([
      expect.stringContaining(':1: asks for linux/amd64'),
      expect.stringContaining(':2: a cache mount'),
    ])
  })
})

describe('heredocs of RUN', () => {
  test('a lone one is the script', () => {
    expect(steps('RUN <<EOF\na\nb\nEOF')).toMatchObject([{ argv: ['/bin/sh', '-c', 'a\nb\n'], script: null }])
  })

  test('one that starts with #! is a program', () => {
    expect(steps('RUN <<EOF\n#!/usr/bin/env python3\nx\nEOF')).toMatchObject([
      { argv: ['/dev/pipes/EOF'], script: { name: 'EOF', content: '#!/usr/bin/env python3\nx\n' } },
    ])
  })

  test('others are left to the shell', () => {
    expect(steps('RUN cat <<A > x && cat <<-"B"\n1\nA\n\t2\n\tB')).toMatchObject([
      { argv: ['/bin/sh', '-c', 'cat <<A > x && cat <<-"B"\n1\nA\n\t2\nB'] },
    ])
  })
})

describe('COPY', () => {
  test.each([
    ['COPY a b', '/w/b'],
    ['COPY a .', '/w/'],
    ['COPY a ./', '/w/'],
    ['COPY a /x/', '/x/'],
    ['COPY a /x/.', '/x/'],
    ['COPY a b c', '/w/c/'],
    ['COPY a /', '/'],
    ['COPY a ../x', '/x'],
    ['COPY a $d/e', '/data/e'],
  ])('%s goes to %s', (text, dest) => {
    expect(steps(`ENV d=/data\nWORKDIR /w\n${text}`)[1]).toMatchObject({ dest })
  })

  test('a heredoc is expanded unless its name is quoted', () => {
    expect(steps('ARG x=1\nCOPY <<a <<"b" /d/\n"$x" \\$x\na\n$x\nb')).toMatchObject([
      {
        sources: [
          { name: 'a', content: '"1" $x\n' },
          { name: 'b', content: '$x\n' },
        ],
      },
    ])
  })

  test.each([
    ['ADD https://example.org/x /x', 'would need the network'],
    ['ADD git@example.org:a/b /x', 'would need the network'],
    ['COPY --from=alpine:3 a b', 'expected an earlier stage'],
    ['COPY --from=0 a b', 'expected an earlier stage'],
    ['COPY --chown=a:b:c a b', '--chown'],
    ['COPY --chmod=hello a b', '--chmod'],
    ['ONBUILD RUN x', 'ONBUILD'],
    ['RUN --mount=type=secret,id=a x', 'no secrets'],
    ['RUN --mount=type=bind,source=a,target=b x', 'COPY the files'],
  ])('%s throws with its line', (text, message) => {
    const read = () => steps(`RUN true\n${text}`)
    expect(read).toThrow(`${file}:3: `)
    expect(read).toThrow(message)
  })
})

describe('stages', () => {
  const text = [
    'FROM base AS tools',
    'ENV t=1',
    'RUN tools',
    'FROM base AS unused',
    'ONBUILD RUN never',
    'RUN unused',
    'FROM tools AS build',
    'RUN build',
    'FROM other',
    'COPY --from=BUILD /a /b',
    'COPY --from=0 /c /d',
  ].join('\n')

  test('only those the last one needs are planned, and a refusal elsewhere does not matter', () => {
    expect(plan(text).stages.map(({ index, base }) => [index, base])).toEqual([
      [0, { image: 'base' }],
      [2, { stage: 0 }],
      [3, { image: 'other' }],
    ])
    expect(last(text).steps).toMatchObject([{ from: 2 }, { from: 0 }])
  })

  test('a stage inherits from the stage it is based on', () => {
    expect(plan(text).stages[1]!.steps).toMatchObject([{ env: { t: '1' } }])
  })

  test.each(['scratch', '..', '../x', '-x', 'a b', '$nothing', 'a/../../b'])('FROM %s is refused', (image) => {
    expect(() => plan(`FROM ${image}`)).toThrow(`${file}:1: `)
  })
})
