/** What a person corrects about the fields that a file seems to have. */
import { importTexts } from '../../texts/manage/import.ts'
import type { Guess } from './guess.ts'

/** Where nothing is said, the guess counts. */
export interface FieldChange {
  name?: string
  type?: string
  isLeftOut?: boolean
}
/** By the ids of the fields that were guessed. */
export type FieldChanges = Readonly<Record<string, FieldChange>>

/** The fields that the file fills, as they were guessed. */
const ownFieldsOf = ({ fields }: Guess) => fields.filter(({ key, calc }) => !key && !calc)

export const hasDates = (type: string): boolean => type === 'date' || type === 'datetime'

/** The fields with what was changed about them. */
export const changedFields = (guess: Guess, changes: FieldChanges) =>
  ownFieldsOf(guess).map((field) => {
    const { name = field.name, type = field.type, isLeftOut = false } = changes[field.id] ?? {}
    return { ...field, guessed: field, name, type, isLeftOut }
  })

/** What is sent of the changes: those of fields that the file has, as far as they differ from the guess. */
export function correctionsOf(guess: Guess, changes: FieldChanges) {
  return changedFields(guess, changes).flatMap(({ guessed, name, type, isLeftOut }) => {
    if (isLeftOut) return { field: guessed.id, leave_out: true }
    const isRenamed = name.trim() !== guessed.name
    const isOther = type !== guessed.type
    if (!isRenamed && !isOther) return []
    return { field: guessed.id, ...(isRenamed && { name: name.trim() }), ...(isOther && { type }) }
  })
}

/** What is wrong with the names, by the ids of the fields. */
export function nameProblems(guess: Guess, changes: FieldChanges): Record<string, string> {
  const used = changedFields(guess, changes).filter(({ isLeftOut }) => !isLeftOut)
  const names = used.map(({ name }) => name.trim().toLowerCase())
  return Object.fromEntries(
    used.flatMap(({ id, name }, at) => {
      if (name.trim() === '') return [[id, importTexts.fieldNameMissing]]
      const isTwice = names.indexOf(names[at] ?? '') < at
      return isTwice ? [[id, importTexts.fieldNameTwice(name.trim())]] : []
    }),
  )
}
