/** Tells text that cannot be meant as windows-1252, by its words, and the encodings in which the same bytes make words. */
import { TextDecoder } from 'node:util'

/** As much of the text is looked at. */
const LOOKED_AT = 16_384
/** Fewer bytes beyond ASCII tell nothing. */
const FEWEST_BYTES = 3
const MOST_WORDS = 200
/** So many of the words beyond ASCII may be odd, because files have codes and names of all kinds. */
const ODD_SHARE = 0.2
/** Another encoding is likely if it has at most so many of the odd words. */
const BETTER = 0.4
const MOST_NAMES = 3
/** Text with so many odd words is none in windows-1252, although no other encoding is likely. */
const HOPELESS_SHARE = 0.5

/**
 * The labels of the encodings that are likelier than windows-1252, the likeliest first, perhaps none; undefined if the text may be meant
 * as windows-1252.
 * @param bytes that are not UTF-8
 * @param western the text in windows-1252; undefined if the bytes have none
 */
export function likelyEncodings(bytes: Buffer, western: string | undefined): string[] | undefined {
  const seen = bytes.subarray(0, LOOKED_AT)
  if (seen.filter((byte) => byte > 0x7f).length < FEWEST_BYTES) return undefined
  const odd = western === undefined ? 1 : oddShare(western.slice(0, LOOKED_AT), westernAlphabets(western.slice(0, LOOKED_AT)))
  if (odd <= ODD_SHARE) return undefined
  const single = SINGLE_BYTE.flatMap(([label, alphabets]) => {
    const text = decoded(label, seen)
    return text === undefined ? [] : [{ label, odd: oddShare(text, alphabets), rare: rareShare(text) }]
  })
  const double = DOUBLE_BYTE.flatMap(([label, common]) => {
    if (decoded(label, seen) === undefined) return []
    const uncommon = uncommonShare(seen, common)
    return [{ label, odd: uncommon, rare: uncommon }]
  })
  const likely = [...single, ...double].filter((one) => one.odd <= BETTER * odd)
  if (!likely.length && (western === undefined || odd <= HOPELESS_SHARE)) return undefined
  return likely
    .sort((a, b) => a.odd - b.odd || a.rare - b.rare)
    .slice(0, MOST_NAMES)
    .map(({ label }) => label)
}

function decoded(label: string, bytes: Buffer): string | undefined {
  try {
    // The last character may be incomplete.
    return new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}

/** The letters beyond ASCII of languages. A word has letters of one of them. */
const WESTERN = [
  ...['àâæçéèêëîïôœùûüÿ', 'äöüß', 'áéíóúñü', 'áâãàçéêíóôõúü', 'àèéìòùî', 'áéíóúëïöüèêç', 'æøåéèêóòôüäö', 'åäöéüàšžñ'],
  ...['àçèéíïòóúü', 'äõöüšž', 'âêîôûïáëö', 'çë', 'áéíóúýäôšž'],
]
/** Of Faroese, too. A word with ø and an acute is a Czech or Slovak one with ř, as in Dvořák. */
const ICELANDIC = ['áðéíóúýþæö', 'ðøæ']
const CENTRAL = ['áčďéěíňóřšťúůýž', 'áäčďéíĺľňóôŕšťúýž', 'ąćęłńóśźż', 'áéíóöőúüű', 'ăâîşţșț', 'čćđšž', 'äöüß', 'çë']
const TURKISH = ['çğıiöşüâîû']
const BALTIC = ['ąčęėįšųūž', 'āčēģīķļņšūž', 'äõöüšž']
const NONE: string[] = []

const SINGLE_BYTE: readonly [label: string, alphabets: readonly string[]][] = [
  ['windows-1251', NONE],
  ['koi8-r', NONE],
  ['ibm866', NONE],
  ['x-mac-cyrillic', NONE],
  ['iso-8859-5', NONE],
  ['macintosh', WESTERN],
  ['windows-1250', CENTRAL],
  ['iso-8859-2', CENTRAL],
  ['windows-1254', TURKISH],
  ['windows-1257', BALTIC],
  ['windows-1253', NONE],
  ['windows-1255', NONE],
  ['windows-1256', NONE],
  ['windows-874', NONE],
]

/** The first bytes of the characters of most texts, from and to, and of punctuation, which says nothing. */
interface Common {
  leads: readonly [from: number, to: number][]
  silent: readonly [from: number, to: number][]
  /** The least second byte of the common characters. */
  second: number
}
const DOUBLE_BYTE: readonly [label: string, common: Common][] = [
  ['gbk', { leads: [[0xb0, 0xd7]], silent: [[0xa1, 0xa3]], second: 0xa1 }],
  ['big5', { leads: [[0xa4, 0xc6]], silent: [[0xa1, 0xa3]], second: 0x40 }],
  [
    'shift_jis',
    {
      leads: [
        [0x82, 0x83],
        [0x88, 0x97],
      ],
      silent: [[0x81, 0x81]],
      second: 0x40,
    },
  ],
  ['euc-kr', { leads: [[0xb0, 0xc8]], silent: [[0xa1, 0xac]], second: 0xa1 }],
  [
    'euc-jp',
    {
      leads: [
        [0xa4, 0xa5],
        [0xb0, 0xcf],
      ],
      silent: [[0xa1, 0xa3]],
      second: 0xa1,
    },
  ],
]

const isWithin = (byte: number, ranges: readonly [number, number][]) => ranges.some(([from, to]) => byte >= from && byte <= to)

/** The share of the characters of two bytes that are rare in the encoding. */
function uncommonShare(bytes: Buffer, { leads, silent, second }: Common): number {
  let [all, uncommon] = [0, 0]
  for (let at = 0; at < bytes.length - 1; at++) {
    const lead = bytes[at] as number
    if (lead < 0x80) continue
    const next = bytes[++at] as number
    if (isWithin(lead, silent)) continue
    all++
    if (!isWithin(lead, leads) || next < second) uncommon++
  }
  return all ? uncommon / all : 1
}

const APART = /[\s!-/:-@[-`{-~]+/u
const BEYOND_ASCII = /[^\0-\x7f]/
/** The beginning of a longer word is looked at: the expressions below take quadratic time. */
const LONGEST = 100
/** Signs that stand around words. */
const AROUND = /^[“”„‘’‚«»‹›¿¡…–—•·†‡®©™\u00a0]+|^[€£§±](?!\p{L})|[“”„‘’‚«»‹›…–—•·†‡®©™€°²³¹ªº%\u00a0]+$|(?<=\d)[¼½¾£]$/gu
/** Signs that stand between the letters of a word, or of two. */
const BETWEEN = /[’‘´·–—…\u00a0\u00ad/]/gu
const ODD_SIGNS = /[ˆ˜ªº\p{C}]/u
/** A sign within or beside letters, as in Wa³êsa and £ódŸ, or two signs. */
const SIGN_BY_LETTER = /\p{L}[^\p{L}\p{M}\p{Nd}]+\p{L}|^[^\p{L}\p{M}\p{Nd}]+\p{L}|[^\p{L}\p{M}\p{Nd}]{2}|\p{L}[^\p{L}\p{M}\p{Nd}]$/u
/** Letters that have no case, or are signs. */
const CASELESS = /[ßµ]/gu

/** The share of the words beyond ASCII that are odd. */
function oddShare(text: string, alphabets: readonly string[]): number {
  let [all, odd] = [0, 0]
  for (const whole of text.split(APART)) {
    const word = whole.slice(0, LONGEST)
    if (!BEYOND_ASCII.test(word)) continue
    const bare = word.replaceAll(AROUND, '')
    if (bare === '' && [...word].length < 2) continue
    all++
    if (isOdd(bare, alphabets)) odd++
    if (all === MOST_WORDS) break
  }
  return all ? odd / all : 0
}

const isOdd = (word: string, alphabets: readonly string[]): boolean =>
  word.split(BETWEEN).some((part) => isOddPart(part.replaceAll(CASELESS, ''), alphabets))

function isOddPart(part: string, alphabets: readonly string[]): boolean {
  if (ODD_SIGNS.test(part) || SIGN_BY_LETTER.test(part) || hasOddCase(part)) return true
  const letters = part.match(/\p{L}/gu) ?? []
  const [script, another] = SCRIPTS.filter((one) => one.test(part))
  if (another || (letters.length && !script)) return true
  return script === LATIN && (/\p{M}/u.test(part) || isOddLatin(letters, alphabets))
}

const LATIN = /\p{Script=Latin}/u
const SCRIPTS = [LATIN, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Hebrew}/u, /\p{Script=Arabic}/u, /\p{Script=Thai}/u]

/** Upper case after lower case, or lower case after several of upper case, with letters beyond ASCII. */
const hasOddCase = (word: string) => [...word.matchAll(/\p{Ll}\p{Lu}|\p{Lu}{2,}\p{Ll}/gu)].some(([letters]) => /[^\0-\x7f]/.test(letters))

/** What western languages have not: õ is before e in Portuguese, and Estonian has no acute; Hungarian and Croatian endings and pairs. */
const ODD_PAIRS = /[áéíóú].*õ(?!e)|õ(?!e).*[áéíóú]|.õ$|iæ$|(gy|sz|cs|zs).*[õû]|[õû].*(gy|sz|cs|zs)/iu

function isOddLatin(letters: readonly string[], alphabets: readonly string[]): boolean {
  const beyond = letters.filter((letter) => letter > '\x7f').map((letter) => letter.toLowerCase().charAt(0))
  if (letters.length > 2 && beyond.length === letters.length) return true
  if (ODD_PAIRS.test(letters.join(''))) return true
  return beyond.length > 0 && !alphabets.some((alphabet) => beyond.every((letter) => alphabet.includes(letter)))
}

/**
 * The letters ğ, ş and ı of Turkish are ð, þ and ý in windows-1252. Icelandic has þ at the beginning of words and few ý, no ç and no ü, and
 * about as many letters with an acute as ð and þ.
 */
function westernAlphabets(text: string): readonly string[] {
  const count = (letters: RegExp) => text.match(letters)?.length ?? 0
  const isTurkish = count(/[çüý]|(?<=\p{L})þ/giu) >= 2 && 4 * count(/[áéíóúæ]/giu) < count(/[ðþý]/giu)
  return isTurkish ? WESTERN : [...WESTERN, ...ICELANDIC]
}

const COMMON_LETTERS = /[оеаинтсрвлкмдпуєіαοιετσνηυρπκאהויברלمالينرتةนรอากเงว]/giu

/** The share of letters beyond ASCII that are rare in their script. */
function rareShare(text: string): number {
  const letters = text.match(/[^\0-\x7f]/gu)?.length ?? 0
  return letters ? 1 - (text.match(COMMON_LETTERS)?.length ?? 0) / letters : 1
}
