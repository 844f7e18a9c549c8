/** Blanks, control characters, and letters that nobody sees, such as a zero-width space or an empty Braille cell. */
const SEEN = /[^\s\p{Z}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/u

/** True if a reader sees anything of the text. */
export const hasWords = (text: string | undefined): boolean => SEEN.test(text ?? '')
