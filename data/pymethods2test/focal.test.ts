import { expect, test } from 'vitest'
import { foreignImports } from './focal.ts'

test('what comes with Python is no package, and neither are optional imports or words of a sentence', () => {
  const code = `from __future__ import annotations
import inspect, threading
from email.utils import parsedate
from shapes import area
"""Takes the best
from the list."""
try:
    import ujson as json
except ImportError:
    import json
`
  expect(foreignImports(code, 'shapes.py')).toEqual([])
  expect(foreignImports(`${code}import numpy as np\nfrom .tools import x\n`, 'shapes.py')).toEqual(['numpy', '.'])
})
