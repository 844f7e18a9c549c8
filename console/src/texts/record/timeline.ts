/** What the timeline of a record says, and its comments. */
const number = (count: number) => count.toLocaleString('en')
const many = (count: number, one: string, several: string) => `${number(count)} ${count === 1 ? one : several}`

export const timelineTexts = {
  title: 'Timeline',
  show: 'Show on the timeline',
  comments: 'Comments',
  mails: 'Mails',
  changes: 'Changes',
  tasks: 'Tasks',
  loading: 'Loading',
  empty: 'Nothing has happened here yet.',
  emptyOfKinds: 'Nothing of what is shown has happened here yet.',
  notLoaded: (problem: string) => `The timeline could not be read on: ${problem}`,
  retry: 'Try again',
  entryGone: 'The entry that the address names is not here any more.',
  somebody: 'Gridpost',
  key: 'API key',
  change: (who: string, what: string) => `${who} ${what}`,
  created: 'created the record',
  deleted: 'deleted the record',
  restored: 'brought the record back',
  undid: (fields: string) => `took back a change of ${fields}`,
  undidAll: 'took a change back',
  changed: (fields: string) => `changed ${fields}`,
  changedNothing: 'changed the record',
  fields: (names: readonly string[]) => (names.length < 4 ? listed(names) : `${number(names.length)} fields`),
  ofRecords: (others: number) => `, with ${many(others, 'other record', 'other records')}`,
  before: 'before',
  after: 'after',
  nothing: '(empty)',
  showFields: (count: number) => `Show ${many(count, 'field', 'fields')}`,
  undo: 'Undo',
  undone: 'The change was taken back.',
  notUndone: 'Nothing was left to take back.',
  undoBegan: 'The change is being taken back in the background.',
  leftOut: (parts: readonly string[]) => `Left as it is: ${parts.join('; ')}.`,
  left: (record: number | null, field: string | null, reason: string) => {
    const what = [record === null ? '' : `record ${record}`, field ?? ''].filter(Boolean).join(', ')
    return `${what || 'this record'} (${reason})`
  },
  more: (count: number) => `${number(count)} more`,
  undoTitle: (records: number) => `Take the change of ${many(records, 'record', 'records')} back?`,
  undoText: 'What was changed again since then stays as it is.',
  undoButton: 'Take it back',
  cancel: 'Cancel',
} as const

function listed(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
