/** The kind of rows whose texts are compared. */
export type ComparedRow = 'task' | 'trace'

/** What a row says in UTF-8, as SQL: a task's instruction, or all that was said in a trace. */
export const textOf: Readonly<Record<ComparedRow, string>> = {
  task: 'encode(instruction)',
  trace: 'encode(array_to_string(list_transform(conversations, message -> message.content), chr(10)))',
}
