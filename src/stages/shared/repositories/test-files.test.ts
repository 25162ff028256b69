import { expect, test } from 'vitest'
import { isChangeLog } from './test-files.ts'

test.each([
  'CHANGES',
  'docs/changelog.md',
  'HISTORY.rst',
  'NEWS',
  'CHANGES-1.2',
  'src/changes/changes.xml',
  'release_notes.txt',
  "what's new 3.html",
  'CHANGES.textile',
  'CHANGELOG.asciidoc',
  'History.rdoc',
  'lib/Changes.pod',
  'changelog.yml',
  'CHANGELOG.json',
  'ChangeLog-2.x',
  'CHANGE_LOG',
  'release-notes/VERSION',
  'changelog.d/12.bugfix',
  'news/123.feature.rst',
  'newsfragments/7.misc',
  'changelogs/unreleased/12-fix.yml',
  'doc/whatsnew/v1.2.0.rst',
])('%s lists changes', (path) => expect(isChangeLog(path)).toBe(true))

test.each([
  'prompt/history.py',
  'src/main/java/ChangeSet.java',
  'lib/changes.js',
  'news/feed.py',
  'history/README.md',
  'src/newsletter.c',
  'docs/newsletter.txt',
  'src/HistoryWindow.layout',
  'data/history.json',
  'news/templates/news/list.txt',
  'news/index.html',
  'history/Makefile',
  't/changes.t',
])('%s is a part of the program, or of something else', (path) => expect(isChangeLog(path)).toBe(false))
