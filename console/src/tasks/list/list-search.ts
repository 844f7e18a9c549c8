/** What the address of the tasks says: which list, what is searched for, whether done ones are shown, and which task is open. */

export const LISTS = ['my', 'delegated', 'all'] as const
export type ListName = (typeof LISTS)[number]

export interface ListSearch {
  list: ListName
  search: string
  done: boolean
}

export interface TasksAddress {
  list?: ListName
  search?: string
  done?: true
  /** The task in the panel. */
  task?: number
}

/** The longest text that can be searched for (contract.md §4). */
const LONGEST = 500

/** Reads the search parameters of the address; what is not understood is left out. */
export function tasksSearch({ list, search, done, task }: Record<string, unknown>): TasksAddress {
  const id = Number(task)
  const text = typeof search === 'string' || typeof search === 'number' ? searchable(String(search)) : ''
  return {
    ...(isList(list) && list !== 'my' && { list }),
    ...(text && { search: text }),
    ...((done === true || done === 'true' || done === 1) && { done: true as const }),
    ...(Number.isSafeInteger(id) && id > 0 && { task: id }),
  }
}

/** Without what no text of the service has: the character NUL, and halves of a character. */
const searchable = (text: string): string =>
  [...text.replaceAll('\0', '').slice(0, LONGEST)].filter((letter) => letter.isWellFormed()).join('')

/** The comment that the address of a task names. */
export function taskSearch({ entry }: Record<string, unknown>): { entry?: number } {
  const id = Number(entry)
  return Number.isSafeInteger(id) && id > 0 ? { entry: id } : {}
}

const isList = (name: unknown): name is ListName => LISTS.some((list) => list === name)
