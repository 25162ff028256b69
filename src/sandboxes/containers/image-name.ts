const word = '[A-Za-z0-9]+(?:(?:\\.|__?|-+)[A-Za-z0-9]+)*'
const host = `(?:${word}|\\[[0-9a-fA-F:]+\\])(?::\\d+)?`
const imageName = new RegExp(
  `^(?:${host}/)?${word}(?:/${word})*(?::\\w[\\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-fA-F]{32,128})?$`,
)

/** Whether a text is the name of an image, as registries spell it. */
export function isImageName(text: string): boolean {
  return text.length <= 512 && imageName.test(text)
}
