/** The marks that a trace's reply can get when the trial is read. */
export const turnMarks = ['unparsed', 'truncated', 'filtered', 'before-handoff', 'context'] as const

/** A mark that a recipe sets: not to be trained on. */
export const masked = 'masked'
