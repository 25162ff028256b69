/** The kind of rows whose texts are compared. */
export type ComparedRow = 'task' | 'trace'

/** A row's text in UTF-8, as SQL: a task's instruction, or a trace's whole conversation. */
export const textOf: Readonly<Record<ComparedRow, string>> = {
  task: 'encode(instruction)',
  trace: 'encode(array_to_string(list_transform(conversations, message -> message.content), chr(10)))',
}
