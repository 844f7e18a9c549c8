/** Which mails of a record belong together: those with one subject, whatever the programs of its writers put before it. */

const WORDS = `
  re|aw|antw(?:ort)?|sv|vs|odp|rif|rép|res|ynt|fwd?|wg|tr|rv|enc|doorst|pd|回复|转发|答复|返信|転送|ответ|отв|automatic reply|
  automatische antwort`
/** `Re:`, `AW:`, `SV[2]:`, `Fwd:` and their like: a few letters, perhaps a number, a colon. */
const MARK = new RegExp(
  String.raw`^\s*(?:\[[^\]]{1,40}\]\s*)?(?:${WORDS.replaceAll(/\n\s*/g, '')})(?:\s*[[(^*]?\d+[\])]?)?\s*[:：]\s*`,
  'iu',
)

/** The subject without what answering and forwarding put before it. */
export function baseSubject(subject: string): string {
  let base = subject
  for (let shorter = base.replace(MARK, ''); shorter !== base; shorter = base.replace(MARK, '')) base = shorter
  return base.trim()
}

/** Without those that say how a mail fares. */
const COLORS = ['blue', 'purple', 'teal', 'pink', 'indigo'] as const

/** The colour that all mails of a thread have on the timeline. */
export function threadColor(subject: string): (typeof COLORS)[number] {
  let hash = 0
  for (const character of baseSubject(subject).toLowerCase()) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003
  return COLORS[hash % COLORS.length] ?? 'blue'
}
