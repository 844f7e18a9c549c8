/** Texts that cannot be saved where they were written, because their comment is gone: they come back to the field for a new one. */

const fields = new Map<string, (text: string) => void>()

/** @param draftName of the field @returns how to end it */
export function hearReturned(draftName: string, take: (text: string) => void): () => void {
  fields.set(draftName, take)
  return () => {
    if (fields.get(draftName) === take) fields.delete(draftName)
  }
}

export function returnText(draftName: string, text: string): void {
  fields.get(draftName)?.(text)
}
