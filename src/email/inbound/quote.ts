/**
 * Returns the part of a reply that its sender wrote, without the quoted mail, the line that introduces it, and the signature. Quoted lines
 * are removed one by one, so that answers between them stay. A text of which nothing remains is returned whole.
 * @param text plain text, quoted lines marked with `>`
 */
export function visibleText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const own = withoutQuotes(lines.slice(0, startOfHistory(lines)))
  return trimmed(withoutSignature(own)) || trimmed(lines)
}

// "-----Original Message-----" and its translations, which Outlook writes above the quoted mail.
const ORIGINAL_MESSAGE = new RegExp(
  `^\\s*[-_=]{2,}\\s*(${[
    ...['original message', 'original appointment', 'reply message', 'ursprüngliche nachricht', 'originalnachricht', "message d'origine"],
    ...[
      'mensaje original',
      'mensagem original',
      'messaggio originale',
      'oorspronkelijk bericht',
      'originalmeddelande',
      'ursprungligt meddelande',
    ],
    ...[
      'oprindelig meddelelse',
      'opprinnelig melding',
      'alkuperäinen viesti',
      'oryginalna wiadomość',
      'wiadomość oryginalna',
      'původní zpráva',
    ],
    ...['исходное сообщение', 'пересылаемое сообщение', 'orijinal ileti', '元のメッセージ', '原始邮件', '原始郵件', '원본 메시지'],
  ].join('|')})\\s*[-_=]{2,}\\s*$`,
  'i',
)

const FROM = 'from|von|de|da|van|från|fra|lähettäjä|od|från|feladó|от|кому от|kimden|差出人|发件人|寄件者|보낸 사람'
const OTHER_FIELDS = [
  'sent|date|gesendet|datum|envoyé|enviado|enviado el|fecha|data|inviato|verzonden|skickat|sendt|dato|lähetetty|päivämäärä|wysłano|odesláno',
  'to|an|à|a|para|per|aan|till|til|vastaanottaja|do|komu|címzett|кому|kime|宛先|收件人|收件者|받는 사람',
  'subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|aihe|temat|předmět|tárgy|тема|konu|件名|主题|主旨|제목',
  'дата|отправлено|tarih|gönderildi|送信日時|日時|发送时间|日期|寄件日期|보낸 날짜|cc|kopie|kopia|копия',
].join('|')
// Some programs turn bold HTML into *From:*. In French, a no-break space precedes the colon.
const FROM_LINE = new RegExp(`^[\\s*]*(${FROM})[\\s\\u00a0*]*[:：]`, 'i')
const OTHER_LINE = new RegExp(`^[\\s*]*(${OTHER_FIELDS})[\\s\\u00a0*]*[:：]`, 'i')

/** The index of the first line of a mail that is quoted without quote marks, or the number of lines if there is none. */
function startOfHistory(lines: string[]): number {
  const lastQuoted = lines.findLastIndex((line) => line.startsWith('>'))
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('>')) continue
    if (ORIGINAL_MESSAGE.test(line)) return index
    if (FROM_LINE.test(line) && isHeaderBlock(lines, index)) return aboveRule(lines, index)
    // "On Monday you wrote:" may be the sender's own words. Without quote marks below, it must name an address or a time.
    if (index > lastQuoted && introductionAt(lines, index) && NAMES_SOMEBODY.test(lines.slice(index, index + 3).join(' '))) return index
  }
  return lines.length
}

const NAMES_SOMEBODY = /[<(][^<>()\s]+@[^<>()\s]+[>)]|\d{1,2}[:.h]\d{2}|\d{4}/

/** True if two more header lines follow within six lines. "From:" alone may be the sender's own words. */
function isHeaderBlock(lines: string[], index: number): boolean {
  return lines.slice(index + 1, index + 7).filter((line) => OTHER_LINE.test(line)).length >= 2
}

/** The index of the line that Outlook draws above its header block, or of the block itself. */
function aboveRule(lines: string[], index: number): number {
  let start = index
  while (start > 0 && /^[\s_\-–—=*]*$/.test(lines[start - 1] ?? '')) start -= 1
  return start
}

// The introduction of a quote: "On 3 Mar 2026, at 10:12, Ann <ann@example.org> wrote:". It has an opener at its start, a verb at its end,
// and a digit. Without a digit ("On Monday, Ann wrote:") it may be the sender's own words, so it must be a single line.
const INTRODUCTIONS: [opener: RegExp, end: RegExp][] = [
  [/^\s*on\b/i, /\bwrote\s*[:：]\s*$/i],
  [/^\s*(am|on)\b/i, /\b(schrieb|geschrieben)\b.{0,120}[:：]\s*$/i],
  [/^\s*le\b/i, /\b(a écrit|écrivait)[\s\u00a0]*[:：]\s*$/i],
  [/^\s*el\b/i, /\b(escribió|ha escrito).{0,120}[:：]\s*$/i],
  [/^\s*(em|no dia|a)\b/i, /\bescreveu\b.{0,120}[:：]\s*$/i],
  [/^\s*(il|in data)\b/i, /\b(ha scritto|scrisse)\s*[:：]\s*$/i],
  [/^\s*op\b/i, /\b(schreef|heeft)\b.{0,120}[:：]\s*$/i],
  [/^\s*(den|på|d\.)(?=\s)/i, /\b(skrev|skreiv)\b.{0,120}[:：]\s*$/i],
  [/\d/, /kirjoitti\s*[:：]\s*$/i],
  [/^\s*(w dniu|dnia)\b/i, /(napisał|napisała|napisał\(a\)|pisze)\s*[:：]\s*$/i],
  [/^\s*dne\b/i, /(napsal|napsala|napsal\(a\))\s*[:：]\s*$/i],
  [/\d/, /(írta|ezt írta)\b.{0,120}[:：]\s*$/i],
  [/^\s*(în|la|pe)(?=\s)/i, /a scris\s*[:：]\s*$/i],
  [/\d/, /(написал|написала|написал\(a\)|написал\(а\)|пишет|пише|написав)\s*[:：]\s*$/i],
  [/\d/, /(yazdı|şunları yazdı|şunu yazdı)\s*[:：]\s*$/i],
  [/\d/, /(έγραψε|đã viết|כתב|כתבה|كتب)\s*[:：]?\s*$/i],
  [/\d/, /(写道|寫道|のメール|は書きました|が書きました|님이 작성|작성)\s*[:：]\s*$/],
]

/** The number of lines from `index` on that introduce a quote, 0 to 3, because mail programs wrap long lines. */
function introductionAt(lines: string[], index: number): number {
  let joined = ''
  for (let count = 1; count <= 3; count += 1) {
    const line = lines[index + count - 1]
    if (!line?.trim() || line.startsWith('>') || line.length > 300) return 0
    joined += ` ${line.trim()}`
    const first = lines[index] ?? ''
    if ((count === 1 || /\d/.test(joined)) && INTRODUCTIONS.some(([opener, end]) => opener.test(first) && end.test(joined))) return count
  }
  return 0
}

/** Removes quoted lines, and introductions that are followed by a quote. */
function withoutQuotes(lines: string[]): string[] {
  const own: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line.startsWith('>')) continue
    const introduction = introductionAt(lines, index)
    if (introduction && isQuoteNext(lines, index + introduction)) index += introduction - 1
    else own.push(line)
  }
  return own
}

function isQuoteNext(lines: string[], from: number): boolean {
  let index = from
  while (index < lines.length && !lines[index]?.trim()) index += 1
  return lines[index]?.startsWith('>') ?? false
}

const SENT_FROM = new RegExp(
  `^\\s*(${[
    ...[
      'sent from (my|mail|outlook|yahoo|proton|samsung|the)\\b',
      'get outlook for',
      'von meinem .{1,40} gesendet',
      'gesendet (von|mit)\\b',
    ],
    ...[
      'envoyé (de|depuis)\\b',
      'enviado (desde|do|de)\\b',
      'inviato da\\b',
      'verzonden (vanaf|met)\\b',
      'skickat från',
      'sendt fra',
      'skickas från',
    ],
    ...[
      'lähetetty',
      'wysłane z',
      'odesláno z',
      'отправлено с',
      "iphone('umdan|'dan)? ?gönder",
      'iphoneから送信',
      '发自我的',
      '從我的',
      '나의 .{1,20}에서 보냄',
    ],
  ].join('|')})`,
  'i',
)

/** Cuts at the delimiter of RFC 3676 (`-- `, or `--` where the space was lost), and removes the "Sent from" line of a phone. */
function withoutSignature(lines: string[]): string[] {
  const delimiter = lines.findIndex((line) => line === '-- ' || line === '--')
  const own = delimiter < 0 ? lines : lines.slice(0, delimiter)
  const last = own.findLastIndex((line) => line.trim())
  return last >= 0 && SENT_FROM.test(own[last] ?? '') ? own.slice(0, last) : own
}

function trimmed(lines: string[]): string {
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
