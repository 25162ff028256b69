/** What a reply of a trace can be marked with when the trial is read. */
export const turnMarks = ['unparsed', 'truncated', 'filtered', 'before-handoff', 'context'] as const

/** A mark that a recipe sets: not to be trained on. */
export const masked = 'masked'
