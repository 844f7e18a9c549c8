/**
 * Letters that have two spellings in Unicode, such as é: one character, or e and an accent. Texts of people are stored in NFC, the composed
 * form (contract.md §1).
 */

export const nfc = (text: string): string => text.normalize('NFC')

/** The value, or each value of a list, in NFC if it is a text. Objects stay as they are: they hold ids, addresses and paths. */
export function valueInNfc(value: unknown): unknown {
  if (typeof value === 'string') return nfc(value)
  return Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? nfc(one) : one)) : value
}

/** The spellings in which a text may be stored that has not been normalised yet, the composed one first; only one for most texts. */
export function formsOf(text: string): string[] {
  return [...new Set([nfc(text), text.normalize('NFD')])]
}
