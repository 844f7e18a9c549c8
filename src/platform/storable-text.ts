/** Text that PostgreSQL can store: without NUL, and without half a surrogate pair, which a cut can leave as well. */
export const storable = (text: string, maxLength = Number.POSITIVE_INFINITY): string =>
  text.replaceAll('\0', '').slice(0, maxLength).toWellFormed()
