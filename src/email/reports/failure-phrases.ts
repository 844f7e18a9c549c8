/**
 * The words by which a notice about a failed delivery is known, as data. Phrases are separated by semicolons. In a phrase ` * ` is up to 40
 * characters of any kind, and `(a|b)` one of several words. Case does not matter.
 */

import { folded } from '../../platform/folded-text.ts'

/** The source of one expression for phrases that are separated by semicolons. A phrase may go on in the next line behind a `|`. */
export const sourceOf = (phrases: string): string =>
  phrases
    .replace(/\|\s*\n\s*/g, '|')
    .split(';')
    .map((phrase) => phrase.trim().replaceAll(' * ', '.{0,40}'))
    .filter(Boolean)
    .join('|')

export const anyOf = (phrases: string) => new RegExp(sourceOf(phrases), 'i')

/** The local parts and the names of programs that report on mail. */
const SYSTEMS = [
  '(mailer|mail|smtp)[-_.]?(daemon|error|service|system|gateway|delivery)',
  'daemon|maild|mdaemon|mmdf|uucp|smtp|imss|antivirus|poo?st[-_.]?master|system administrator',
  'microsoftexchange[0-9a-f]{32}|(double-)?bounces?|ndr|dsn',
].join('|')
export const SYSTEM_ADDRESS = new RegExp(`(^|[-_.+"])(${SYSTEMS})($|[-_.+=@"])`, 'i')
export const SYSTEM_NAME = anyOf(`
    mail(er)?[- _]?daemon; mail (delivery|router|transport|transfer|system|gateway); delivery (subsystem|system|status|notification);
    post[- _]?master; (system|mail|internet|network) administrator; content[- ]filter
  `)

/** Subjects of notices about deliveries, whatever became of them. */
export const NOTICE_SUBJECT = anyOf(
  'delivery (notification|report|notice|status|failure|problem|error); mail delivery; mail error; (status|mail) report',
)

/** Subjects of notices about mail that was not delivered, in their usual form (folded-text.ts). */
export const FAILURE_SUBJECT = new RegExp(
  folded(
    sourceOf(`
    un-?deliver(ed|able); non[- ]?deliver(y|able); (not|couldn't|cannot|can't)( be)? delivered; user unknown;
    unknown (user|recipient|address); (delivery|sending|mail|message|send)( has| could| was)? (fail|error|problem|not);
    fail(ed|ure) (mail|delivery|to deliver|notice|sending); failure notice; \\(failure\\);
    return(ed|ing)( to)? (mail|sender|e-?mail|message);
    error sending; mail (system )?error; unzustellbar; nicht zugestellt; zustellfehler; fehler bei der übermittlung;
    non (remis|distribu|délivré); échec * (remise|distribution); no (se )?(puede|pudo|ha podido) entregar; no entregado; error de entrega;
    fallo * entrega; não (foi )?entregue; falha na entrega; mancato recapito; impossibile (consegnare|recapitare); non recapitabile;
    onbestelbaar; niet (bezorgd|afgeleverd); kan ikke leveres; kunde inte levereras; ei voitu toimittaa; nie ?dostarcz; nedoru[čc]iteln;
    kézbesíthetetlen;
    недостав; не (было )?доставлен; teslim edilemedi; (配信|送信)(不能|エラー|できません); メールエラー; エラー通知; 退信;
    (无法|無法|未能)(送达|送達|傳遞|传递|投递|投遞); (投递|投遞|发送|發送|传送|傳送)(失败|失敗); 반송; 전송 실패
  `),
  ),
  'i',
)

const PART = String.raw`(the )?(headers?|text|body|contents?|first \w+ lines)`
/** The lines above the returned message, in notices that have it as text. */
export const RETURNED_BELOW = anyOf(String.raw`
    ^\W*(below this line is|this is|the following is|here is|attached is|below is|enclosed is) (a |the )?(copy of|header);
    ^[\s>]*[-=_*+]{2,} * (original|unsent|returned|undelivered|bounced|rejected|copy of|start of|beginning of);
    ^[\s>]*[-=_*+]{2,} * (headers? (of|follow)|message (header|body|text|follows|contents?));
    ^\W*${PART} of (the |your )?((original|undelivered|returned) )?(message|mail)( follows?| is| below)?\W*$;
    ^\W*(the |your )?(original|unsent|returned|undelivered) (message|mail)( headers?| text)?( is| are)?( follows?| below| attached)?:?\W*$;
    ^\W*message headers?( follow)?:?\W*$; ^[-\s]*(ursprüngliche nachricht|originalnachricht|исходное сообщение|元のメッセージ|原始邮件)
  `)
