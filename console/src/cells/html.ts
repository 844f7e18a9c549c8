/** Text as HTML for the clipboard. */

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** The text with every character that HTML reads otherwise escaped, and with its line ends. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char).replaceAll(/\r\n?|\n/g, '<br>')
