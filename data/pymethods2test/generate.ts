import { definePipeline } from 'ot-agent'
import { bodyOf, foreignImports, isTestCase, runner, takeBody, textFields, untoldWords, verifier } from './focal.ts'

/** Documentation alone is not enough to rewrite a longer body. */
const mostLines = 80

/** A method and its test: the agent rewrites the method, and the test decides. */
export default definePipeline({
  name: 'pymethods2test',
  summary: 'Python methods without their bodies, to be written so that the tests of their repository pass',
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    // Published as an archive, not as a table: pass rows like those in the fixture with --source FILE.
    real: null,
  },
  strategy: 'focal-method',
  make: ({ id, fields }) => {
    const row = textFields(fields)
    if (row === null)
      return { drop: 'missing-field', detail: 'expected a focal method and a test with their files', id }
    const { method, test, testClass, focalFile, focalCode, testFile, testCode, framework } = row
    if (framework !== 'unittest') return { drop: 'other-framework', detail: framework, id }
    if (!isTestCase(testCode, testClass))
      return { drop: 'no-test-case', detail: `${testClass} is no class of tests by itself`, id }
    const foreign = foreignImports(`${focalCode}\n${testCode}`, focalFile)
    if (foreign.length > 0) return { drop: 'needs-packages', detail: foreign.join(', '), id }
    const empty = takeBody(focalCode, method)
    if (empty === null) return { drop: 'no-body', detail: `expected one function ${method} in ${focalFile}`, id }
    const body = bodyOf(focalCode, empty)
    if (body.length > mostLines) return { drop: 'long-body', detail: `${body.length} lines`, id }
    const untold = untoldWords(body, empty, row)
    if (untold.length > 0)
      return {
        drop: 'untold-words',
        detail: `the test wants ${JSON.stringify(untold[0])}, which neither the documentation nor other code mentions`,
        id,
      }
    return {
      instruction: `\`/app/${focalFile}\` lacks the body of \`${method}\`: it only raises NotImplementedError. Write it.

What it has to do follows from its name, its parameters, its documentation and the code around it. A unit test of it decides,
\`${testClass}.${test}\` of the project it comes from.
`,
      files: {
        'environment/Dockerfile': {
          data: `FROM python:3.12-slim\n\nWORKDIR /app\nCOPY ${focalFile} /app/${focalFile}\n`,
        },
        [`environment/${focalFile}`]: { data: empty },
        'tests/test.sh': { data: verifier, executable: true },
        'tests/run.py': { data: runner(testFile, `${testClass}.${test}`) },
        [`tests/code/${testFile}`]: { data: testCode },
        'solution/solve.sh': {
          data: `#!/bin/sh\ncp "$(dirname "$0")/${focalFile}" /app/${focalFile}\n`,
          executable: true,
        },
        [`solution/${focalFile}`]: { data: focalCode },
      },
    }
  },
})
