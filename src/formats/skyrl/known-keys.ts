import facts from './known-keys.json' with { type: 'json' }

type Classes = Readonly<Record<string, Readonly<Record<string, string>>>>

/** SkyRL's configuration classes: each key with its kind, or the class it leads to. `dict` takes keys of its own. */
export const skyrlClasses: Classes = facts.classes

export const skyrlRoot = facts.root
