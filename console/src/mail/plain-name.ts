/** Texts of strangers that stand within ours: subjects, names of people and of files. */

/** Characters that turn the order of what follows (UAX #9), or cannot be seen: `invoice\u202Efdp.exe` would look like `invoiceexe.pdf`. */
const DECEIVING = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

/** The text in the order of its characters, in one line. */
export const plainName = (text: string): string => text.replace(/\s+/g, ' ').replace(DECEIVING, '').trim()
