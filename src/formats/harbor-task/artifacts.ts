import { posix } from 'node:path'
import type { Artifact } from '../../core/task.ts'
import type { Refuse } from './refuse.ts'
import type { ArtifactToml } from './schema.ts'
import { defined } from './settings.ts'

/** Artefacts in one form, none of which can be placed outside the folder they are collected into. */
export function toArtifacts(list: readonly ArtifactToml[], key: string, refuse: Refuse): Artifact[] {
  return list.map((item, i) => {
    const { source, destination, exclude, service } = typeof item === 'string' ? plain(item) : item
    const artifact = defined({ source, destination: destination || undefined, exclude, service })
    checkPlace(artifact, `${key}[${i}]`, refuse)
    return artifact
  })
}

/** Where an artefact goes below the folder of artefacts: its destination, else the last part of its source. */
export function placeOf(artifact: Artifact): string {
  return posix.normalize(artifact.destination ?? posix.basename(artifact.source)).replace(/\/$/, '')
}

/** Refuses what schema 1.3 and later forbid: the manifest's own name, and two artefacts in one place. */
export function checkPlaces(artifacts: readonly Artifact[], key: string, refuse: Refuse): void {
  for (const [i, artifact] of artifacts.entries()) {
    const place = placeOf(artifact)
    if (place === 'manifest.json') refuse(key, 'no artefact at manifest.json, where the manifest goes', artifact.source)
    const other = artifacts
      .slice(0, i)
      .find((earlier) => overlaps(placeOf(earlier), place) && !isSame(earlier, artifact))
    if (other) {
      const hint = 'give one of them another destination'
      refuse(key, 'artefacts in different places', `${other.source} and ${artifact.source}, both at ${place}`, hint)
    }
  }
}

function plain(source: string) {
  return { source, destination: undefined, exclude: [], service: undefined }
}

function checkPlace(artifact: Artifact, key: string, refuse: Refuse): void {
  const given = artifact.destination ?? posix.basename(artifact.source)
  const leaves = given.split('/').includes('..') || posix.isAbsolute(given) || given.includes('\\')
  if (leaves) refuse(`${key}.destination`, 'a relative path without ".."', given)
  if (given.includes('\0')) refuse(`${key}.destination`, 'a path', given)
}

function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
}

/** Naming one thing twice is harmless. */
function isSame(a: Artifact, b: Artifact): boolean {
  return a.source === b.source && (a.service ?? 'main') === (b.service ?? 'main') && placeOf(a) === placeOf(b)
}
