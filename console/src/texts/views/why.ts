/** Why a view does not show a record. */
const quoted = (text: string) => `"${text}"`

const IS = {
  '=': (value: string) => value,
  '!=': (value: string) => `anything but ${value}`,
  is_empty: () => 'it empty',
  is_not_empty: () => 'a value',
}
const PARTS = {
  contains: (value: string) => `one that contains ${value}`,
  starts_with: (value: string) => `one that starts with ${value}`,
  ends_with: (value: string) => `one that ends with ${value}`,
}

export const whyTexts = {
  title: 'Why is this record not here?',
  keys: 'Ctrl+Shift+E',
  record: 'Record: a title or an id',
  searching: 'Searching…',
  noSuch: 'No record of this table has these words.',
  noTitle: 'No title',
  recordWithId: (id: string) => `The record with the id ${id}`,
  another: 'Another record',
  open: 'Open the record',
  goTo: 'Go to it in the grid',
  matches: 'This view shows the record.',
  matchesTried: 'The view shows the record, and so does what you are trying.',
  deleted: (id: number, title: string | null, who: string | null, when: string, until: string) =>
    `${title === null ? `The record ${id}` : `The record ${quoted(title)}`} was deleted${who === null ? '' : ` by ${who}`} on ${when}; ` +
    `it can be brought back until ${until}.`,
  noRecord: (id: number) => `This table has no record ${id}. It may have been deleted.`,
  unknown: 'The view shows the record by now, or the conditions are more than this can explain.',
  wordMissing: (word: string) => `The record does not have the word "${word}".`,
  wanting: {
    view: { wants: 'the view wants', wantsNot: 'the view does not want' },
    tried: { wants: 'what you are trying wants', wantsNot: 'what you are trying does not want' },
  },
  sentence: (field: string, actual: string, wants: string, wanted: string) => `${field} ${actual}, ${wants} ${wanted}`,
  isEmpty: 'is empty',
  checked: (isChecked: boolean) => (isChecked ? 'is checked' : 'is not checked'),
  toBeChecked: (isChecked: boolean) => (isChecked ? 'it checked' : 'it not checked'),
  has: (isMany: boolean, values: string) => `${isMany ? 'has' : 'is'} ${values}`,
  me: (name: string) => `${name} (you)`,
  quoted,
  anyOf: (values: readonly string[]) => values.join(' or '),
  allOf: (values: readonly string[]) => `all of ${values.join(', ')}`,
  /** What is wanted, by the kind of values and the compare. */
  wanted: {
    text: {
      ...{ ...IS, ...PARTS },
      '>': (value: string) => `one that sorts after ${value}`,
      '<': (value: string) => `one that sorts before ${value}`,
      '>=': (value: string) => `${value} or one that sorts after it`,
      '<=': (value: string) => `${value} or one that sorts before it`,
    },
    number: {
      ...{ ...IS, ...PARTS },
      '>': (value: string) => `more than ${value}`,
      '<': (value: string) => `less than ${value}`,
      '>=': (value: string) => `at least ${value}`,
      '<=': (value: string) => `at most ${value}`,
    },
    time: {
      ...IS,
      '>': (value: string) => `it after ${value}`,
      '<': (value: string) => `it before ${value}`,
      '>=': (value: string) => `${value} or later`,
      '<=': (value: string) => `${value} or earlier`,
    },
    many: { ...IS, ...PARTS, '!=': (value: string) => `no ${value}`, contains: (value: string) => value },
  },
} as const
