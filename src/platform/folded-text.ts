/**
 * The text without accents and other marks, and with the usual form of each letter, so that `Réponse`, its decomposed form and `Reponse`
 * are the same. Compare it with words that are folded, too.
 */
export const folded = (text: string): string => text.normalize('NFKD').replace(/\p{Mark}+/gu, '')
