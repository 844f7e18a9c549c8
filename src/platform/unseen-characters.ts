/** Characters of a name that a reader does not see. */

/**
 * Control characters, line and paragraph separators, and what changes the direction of text, which can make `exe.gpj` look like `jpg.exe`:
 * marks, overrides, embeddings, isolates, and the controls that Unicode has given up.
 */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{206a}-\u{206f}]/gu

/** The name of a file as it is stored, sent and shown, without what a reader does not see. */
export const withoutUnseen = (name: string): string => name.replace(UNSEEN, '')
