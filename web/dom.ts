export type Child = Node | string | number | null | undefined | false | readonly Child[]
type Props = Readonly<Record<string, unknown>>

/** Makes an element. Strings become text nodes, never markup, so hostile ones are only displayed. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value)
  append(element, children)
  return element
}

const svgSpace = 'http://www.w3.org/2000/svg'

/** Makes an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(svgSpace, tag)
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value)
  append(element, children)
  return element
}

export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    if (Array.isArray(child)) append(parent, child as readonly Child[])
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)))
  }
}

/** Replaces an element's children. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren()
  append(parent, children)
}

function set(element: Element, name: string, value: unknown): void {
  if (value === null || value === undefined || value === false) return
  if (name.startsWith('on') && typeof value === 'function') {
    element.addEventListener(name.slice(2), value as EventListener)
    return
  }
  if ((name === 'href' || name === 'src') && !isOurs(String(value))) throw new Error(`refused the address ${value}`)
  element.setAttribute(name, value === true ? '' : String(value))
}

/** Links lead only to this page and its server; an address from a trial never becomes one. */
function isOurs(address: string): boolean {
  return address.startsWith('#') || address.startsWith('api/')
}
