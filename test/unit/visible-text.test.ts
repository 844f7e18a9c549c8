import { describe, expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'
import { unflowed } from '../../src/email/quoting/flowed.ts'
import { visibleText } from '../../src/email/quoting/visible-text.ts'
import { cpuTime } from '../support/cpu-time.ts'

/** Introductions of mail programs, in the languages that they are set to. */
const INTRODUCTIONS: [program: string, introduction: string][] = [
  ['Gmail', 'On Mon, Mar 2, 2026 at 10:12 AM Desk <desk@shop.example> wrote:'],
  ['Gmail, address wrapped', 'On Mon, Mar 2, 2026 at 10:12 AM The Desk of the Shop <\ndesk@shop.example> wrote:'],
  ['Gmail, colon wrapped', 'ma. 2. mars 2026 kl. 10:12 skrev Desk <desk@shop.example\n>:'],
  ['Gmail, verb wrapped', 'On Mon, Mar 2, 2026 at 10:12 AM Desk <desk@shop.example>\nwrote:'],
  ['Gmail, date wrapped', 'Am Mo., 2. März\n2026 um 10:12 Uhr schrieb Desk <desk@shop.example>:'],
  ['Gmail before 2016', '2026-03-02 10:12 GMT+01:00 Desk <desk@shop.example>:'],
  ['Gmail without an address', '2026-03-02 10:12 GMT+01:00 Desk of the Shop'],
  ['Inbox, name first', 'Desk <desk@shop.example> schrieb am Mo., 2.\nMärz 2026 um 10:12 Uhr:'],
  ['Apple Mail', 'On 2 Mar 2026, at 10:12, Desk <desk@shop.example> wrote:'],
  ['Apple Mail in German', 'Am 02.03.2026 um 10:12 schrieb Desk <desk@shop.example>:'],
  ['Apple Mail in Dutch', 'Op 2 mrt. 2026, om 10:12 heeft Desk <desk@shop.example> het volgende geschreven:'],
  ['Thunderbird, without an address', 'Am 02.03.26 um 10:12 schrieb Desk:'],
  ['Thunderbird in French', 'Le 02/03/2026 à 10:12, Desk a écrit\u00a0:'],
  ['Spark', 'On 2 Mar 2026, 10:12 +0100, Desk <desk@shop.example>, wrote:'],
  ['Proton', '------- Original Message -------\nOn Monday, March 2nd, 2026 at 10:12, Desk <desk@shop.example> wrote:'],
  ['Zoho', '---- On Mon, 02 Mar 2026 10:12:00 +0100 Desk <desk@shop.example> wrote ----'],
  ['an Android phone', '-------- Desk wrote --------'],
  ['Yahoo', '--- On Mon, 3/2/26, Desk <desk@shop.example> wrote:'],
  ['Yandex', '02.03.2026, 10:12, "Desk" <desk@shop.example>:'],
  ['Yandex in English', '10:12, 2 March 2026, "Desk" <desk@shop.example>:'],
  ['mail.ru', 'Понедельник, 2 марта 2026, 10:12 +03:00 от Desk <desk@shop.example>:'],
  ['mail.ru in English', 'Monday, 2 March 2026, 10:12 +03:00 from Desk <desk@shop.example>:'],
  ['NetEase', 'At 2026-03-02 10:12:13, "Desk" <desk@shop.example> wrote:'],
  ['NetEase in Chinese', '在 2026-03-02 10:12:13，"Desk" <desk@shop.example> 写道：'],
  ['Outlook for the web', 'On 02/03/2026 10:12 CET Desk <desk@shop.example> wrote:'],
  ['bold', '*On Mon, Mar 2, 2026 at 10:12 AM Desk <desk@shop.example> wrote:*'],
  ['Danish', 'Den man. 2. mar. 2026 kl. 10.12 skrev Desk <desk@shop.example>:'],
  ['Swedish', 'Den mån 2 mars 2026 kl 10:12 skrev Desk <desk@shop.example>:'],
  ['Finnish', 'ma 2. maalisk. 2026 klo 10.12 Desk (desk@shop.example) kirjoitti:'],
  ['Spanish', 'El lun, 2 mar 2026 a las 10:12, Desk (<desk@shop.example>) escribió:'],
  ['Portuguese', 'Em seg., 2 de mar. de 2026 às 10:12, Desk <desk@shop.example> escreveu:'],
  ['Italian', 'Il giorno lun 2 mar 2026 alle ore 10:12 Desk <desk@shop.example> ha scritto:'],
  ['Polish', 'W dniu pon., 2 mar 2026 o 10:12 Desk <desk@shop.example> napisał(a):'],
  ['Polish, name first', 'pon., 2 mar 2026, 10:12 użytkownik Desk <desk@shop.example> napisał:'],
  ['Czech', 'po 2. 3. 2026 v 10:12 odesílatel Desk <desk@shop.example> napsal:'],
  ['Slovak', 'po 2. 3. 2026 o 10:12 Desk <desk@shop.example> napísal(a):'],
  ['Hungarian', 'Desk <desk@shop.example> ezt írta (időpont: 2026. márc. 2., H, 10:12):'],
  ['Romanian', 'În lun., 2 mar. 2026 la 10:12, Desk <desk@shop.example> a scris:'],
  ['Croatian', 'pon, 2. ožu 2026. u 10:12 Desk <desk@shop.example> napisao je:'],
  ['Russian', 'пн, 2 мар. 2026 г. в 10:12, Desk <desk@shop.example>:'],
  ['Russian, with a verb', '02.03.2026 10:12, Desk пишет:'],
  ['Ukrainian', 'пн, 2 бер. 2026 р. о 10:12 Desk <desk@shop.example> пише:'],
  ['Bulgarian', 'На пн, 2.03.2026 г. в 10:12 Desk <desk@shop.example> написа:'],
  ['Greek', 'Στις Δευ 2 Μαρ 2026 στις 10:12 π.μ., ο χρήστης Desk <desk@shop.example> έγραψε:'],
  ['Turkish', 'Desk <desk@shop.example>, 2 Mar 2026 Pzt, 10:12 tarihinde şunu yazdı:'],
  ['Hebrew', '\u202bבתאריך יום ב׳, 2 במרץ 2026 ב-10:12 מאת \u202aDesk\u202c <\u202adesk@shop.example\u202c>:\u202c'],
  ['Arabic', 'في الاثنين، 2 مارس 2026 في 10:12 ص Desk <desk@shop.example> كتب:'],
  ['Vietnamese', 'Vào Th 2, 2 thg 3, 2026 vào lúc 10:12 Desk <desk@shop.example> đã viết:'],
  ['Thai', 'ในวันที่ จ. 2 มี.ค. 2026 เวลา 10:12 Desk <desk@shop.example> เขียนว่า:'],
  ['Japanese', '2026年3月2日(月) 10:12 Desk <desk@shop.example>:'],
  ['Korean', '2026년 3월 2일 (월) 오전 10:12, Desk <desk@shop.example>님이 작성:'],
  ['Chinese', 'Desk <desk@shop.example> 于2026年3月2日周一 10:12写道：'],
  ['Catalan', 'Missatge de Desk <desk@shop.example> del dia dl., 2 de març 2026 a les 10:12:'],
  ['Traditional Chinese', 'Desk <desk@shop.example> 於 2026年3月2日 週一 上午10:12寫道：'],
  ['Tuta', 'Mar 2, 2026, 10:12 by desk@shop.example:'],
  ['Tuta in German', '2. März 2026, 10:12 von desk@shop.example:'],
  ['Tuta in French', '2 mars 2026, 10:12 de desk@shop.example:'],
  ['Apple Mail in Polish', 'Wiadomość napisana przez Desk <desk@shop.example> w dniu 2 mar 2026, o godz. 10:12:'],
  ['Apple Mail in Polish, date first', 'Wiadomość napisana w dniu 2 mar 2026, o godz. 10:12, przez Desk <desk@shop.example>:'],
  ['Thunderbird in Korean', '2026-03-02 오전 10:12에 Desk 이(가) 쓴 글:'],
  ['Thunderbird in Korean, with an address', '2026. 3. 2. 오전 10:12에 Desk <desk@shop.example>가 쓴 글:'],
  ['Swahili', 'Mnamo Jumatatu, 2 Machi 2026 saa 10:12, Desk <desk@shop.example> aliandika:'],
  ['Bengali', 'সোম, ২ মার্চ, ২০২৬ তারিখে ১০:১২ AM টায় তারিখে Desk <desk@shop.example> লিখেছেন:'],
  ['Arabic, with its digits', 'في الاثنين، ٢ مارس، ٢٠٢٦ في ١٠:١٢ ص، كتب Desk <desk@shop.example>:'],
  ['Persian', 'در تاریخ دوشنبه ۲ مارس ۲۰۲۶،‏ ۱۰:۱۲ Desk <desk@shop.example> نوشت:'],
  ['Hindi', 'सोम, २ मार्च २०२६ को १०:१२ am बजे Desk <desk@shop.example> ने लिखा:'],
  ['Marathi', 'सोम, २ मार्च, २०२६ रोजी १०:१२ AM वाजता Desk <desk@shop.example> ने लिहिले:'],
  ['Thai, with its digits', 'ในวันที่ จ. ๒ มี.ค. ๒๐๒๖ เวลา ๑๐:๑๒ Desk <desk@shop.example> เขียนว่า:'],
]

describe('the introduction of a quote is removed', () => {
  test.each(INTRODUCTIONS)('by %s, with the quote below', (_, introduction) => {
    expect(visibleText(`Blue, please.\nTwelve of them.\n\n${introduction}\n\n> Which colour?\n> And how many?`)).toBe(
      'Blue, please.\nTwelve of them.',
    )
    expect(visibleText(`Blue, please!\n${introduction}\n> Which colour?\n\nNot red.`)).toBe('Blue, please!\n\nNot red.')
  })

  test.each(INTRODUCTIONS)('by %s, with an unmarked copy below', (_, introduction) => {
    expect(visibleText(`Blue, please.\n\n${introduction}\n\nWhich colour?\nAnd how many?`)).toBe('Blue, please.')
  })

  test.each([
    ['behind the last words', 'Blue, please. On Mon, Mar 2, 2026 at 10:12 AM Desk <desk@shop.example> wrote:\n> Which colour?'],
    ['behind the last words and a dash', 'Blue, please.--- On Mon, 2 Mar 2026 at 10:12, desk@shop.example wrote:\n> Which colour?'],
    ['above a quote, without a date', 'Blue, please.\n\nDesk <desk@shop.example> wrote:\n> Which colour?'],
    ['above a copy without a date', 'Blue, please.\n\nAnn Lee <desk@shop.example> wrote:\n\nWhich colour?'],
    [
      'with the verb on a line of its own',
      'Blue, please.\nLe 4 mars 2026 10:12, "Desk"\n<desk@shop.example>\na écrit :\n\n> Quelle couleur ?',
    ],
    ['above a quote with bars', 'Blue, please.\n\n2026/3/2 Desk <desk@shop.example>\n\n| Which colour?\n|\n| And how many?'],
    ['of Nextcloud', 'Blue, please.\n\n"Desk" <desk@shop.example> March 2, 2026 10:12 AM\n> Which colour?'],
    ['of Nextcloud in German', 'Blue, please.\n\n"Desk" <desk@shop.example> – 2. März 2026 10:12\n> Welche Farbe?'],
    ['of mail.ru, with a quote mark', 'Blue, please.\n\n>Понедельник, 2 марта 2026, 10:12 +03:00 от Desk <desk@shop.example>:\n>\n>Цвет?'],
    [
      'of mail.ru, with a quote mark that the copy lacks',
      'Blue, please.\n\n> Понедельник, 2 марта 2026, 10:12 +03:00 от Desk <desk@shop.example>:\n\nКакой цвет?\nИ сколько?',
    ],
    ['of Horde', 'Blue, please.\n\nZitat von Desk <desk@shop.example>:\n\n> Which colour?'],
    ['above the answer', 'On 2 Mar 2026, at 10:12, Desk <desk@shop.example> wrote:\n\nBlue, please.'],
    [
      'in HTML of Outlook',
      'Blue, please.\n\nOn Mon, 2 Mar 2026 at 10:12 Desk\n\n<\nmailto:Desk <desk@shop.example>\n> wrote:\n\nWhich colour?',
    ],
  ])('%s', (_, text) => {
    expect(visibleText(text)).toBe('Blue, please.')
  })
})

/** Headers of quoted mails. */
const HEADERS: [program: string, header: string][] = [
  ['Outlook', 'From: Desk <desk@shop.example>\nSent: Monday, March 2, 2026 10:12 AM\nTo: Ann Lee\nSubject: Our offer'],
  ['Outlook in HTML', '---\nFrom: Desk <desk@shop.example>\nSent: Monday, March 2, 2026 10:12 AM\nTo: Ann Lee\nSubject: Our offer'],
  [
    'Outlook for iOS',
    'Get Outlook for iOS<https://aka.ms/example>\n________________________________\nFrom: Desk\nSent: Monday\nSubject: Our offer',
  ],
  ['Outlook, bold', '*From:* Desk\n*Sent:* Monday, March 2, 2026 10:12 AM\n*To:* Ann Lee\n*Subject:* Our offer'],
  [
    'Outlook, bold rule',
    '*________________________________*\n*Von:* Desk\n*Gesendet:* Montag, 2. März 2026 10:12\n*An:* Ann\n*Betreff:* Angebot',
  ],
  ['Outlook with empty lines', 'From: Desk\n\nSent: Monday, March 2, 2026 10:12 AM\n\nTo: Ann Lee\n\nSubject: Our offer'],
  ['Outlook in French', 'De\u00a0: Desk\nEnvoyé\u00a0: lundi 2 mars 2026 10:12\nÀ\u00a0: Ann Lee\nObjet\u00a0: Notre offre'],
  ['Outlook in Dutch', 'Van: Desk\nVerzonden: maandag 2 maart 2026 10:12\nAan: Ann Lee\nOnderwerp: Ons aanbod'],
  ['Outlook in Polish', 'Od: Desk\nWysłano: poniedziałek, 2 marca 2026 10:12\nDo: Ann Lee\nTemat: Oferta'],
  ['Outlook in Russian', 'От: Desk\nОтправлено: 2 марта 2026 г. 10:12\nКому: Ann Lee\nТема: Предложение'],
  ['Outlook in Chinese', '发件人: Desk\n发送时间: 2026年3月2日 10:12\n收件人: Ann Lee\n主题: 报价'],
  ['GMX', 'Gesendet: Montag, 02. März 2026 um 10:12 Uhr\nVon: Desk <desk@shop.example>\nAn: ann@customer.example\nBetreff: Angebot'],
  ['Orange', '====\n\nMessage du : 02/03/2026 10:12\nDe : "Desk" <desk@shop.example>\nA : ann@customer.example\nSujet : Offre'],
  ['an unknown heading', '-------- Ein ganz neuer Trenner --------\nVon: Desk\nDatum: 02.03.26 10:12\nAn: Ann\nBetreff: Angebot'],
  ['QQ', '------------------ 原始邮件 ------------------\n发件人: "Desk"<desk@shop.example>;\n发送时间: 2026年3月2日\n主题: 报价'],
  [
    'Gmail, forwarded',
    '---------- Forwarded message ---------\nFrom: Desk <desk@shop.example>\nDate: Mon, Mar 2, 2026\nSubject: Our offer\nTo: <ann@x.example>',
  ],
  [
    'Apple, forwarded',
    'Begin forwarded message:\n\nFrom: Desk <desk@shop.example>\nSubject: Our offer\nDate: 2 March 2026\nTo: ann@customer.example',
  ],
  [
    'Zoho, forwarded',
    '============ Forwarded message ============\nFrom: Desk <desk@shop.example>\nTo: ann@x.example\nDate: Mon, 02 Mar 2026\nSubject: Offer',
  ],
  ['Outlook Express', '----- Original Message -----\nFrom: Desk\nTo: Ann Lee\nSent: Monday, March 02, 2026 10:12 AM\nSubject: Our offer'],
  ['a marker alone', '-----Ursprüngliche Nachricht-----'],
  ['a bold marker', '*-----Original Message-----*'],
  ['a marker of other dashes', '‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐'],
]

test.each(HEADERS)('the copy below the header of %s is removed', (_, header) => {
  expect(visibleText(`Blue, please.\nTwelve of them.\n\n${header}\n\nWhich colour?\n> Or none?`)).toBe('Blue, please.\nTwelve of them.')
})

const OUTLOOK = '<b>From:</b> Desk &lt;desk@shop.example&gt;<br><b>Sent:</b> Monday, 10:12<br><b>To:</b> Ann<br><b>Subject:</b> Our offer'

test.each([
  ['Outlook for the web', `<div>Blue, please.</div><hr><div id="divRplyFwdMsg">${OUTLOOK}</div><div>Which colour?</div>`],
  [
    'Outlook',
    `<p class="MsoNormal">Blue, please.</p><p>&nbsp;</p><div><div style="border-top:solid"><p>${OUTLOOK}</p></div></div><p>Which?</p>`,
  ],
  [
    'Outlook with paragraphs',
    '<p>Blue, please.</p><p><b>From:</b> Desk</p><p><b>Sent:</b> Monday</p><p><b>Subject:</b> Offer</p><p>Which?</p>',
  ],
  [
    'Outlook for iOS',
    `<div>Blue, please.</div><div>Get <a href="https://aka.ms/x">Outlook for iOS</a></div><hr><div>${OUTLOOK}</div><div>Which?</div>`,
  ],
  [
    'Gmail',
    '<div>Blue, please.</div><div>On Mon, Mar 2, 2026 at 10:12 AM Desk &lt;<a href="mailto:d@e.example">d@e.example</a>&gt; wrote:</div><blockquote>Which?</blockquote>',
  ],
  [
    'Yahoo',
    '<div>Blue, please.</div><div>On Monday, March 2, 2026, 10:12:13 AM GMT+1, Desk &lt;d@e.example&gt; wrote: </div><div>Which?</div>',
  ],
  [
    'Apple Mail',
    'Blue, please.<br><div>Sent from my iPhone</div><blockquote>On 2 Mar 2026, at 10:12, Desk &lt;d@e.example&gt; wrote:<br></blockquote><blockquote>Which?</blockquote>',
  ],
])('the copy in HTML of %s is removed', async (_, html) => {
  const mail = await parseMail(Buffer.from(`From: ann@customer.example\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}`))
  expect(mail.visibleText).toBe('Blue, please.')
})

test.each([
  ['Sent from my iPhone'],
  ['Sent from my Galaxy'],
  ['Sent from Yahoo Mail on Android'],
  ['Sent with Proton Mail secure email.'],
  ['(sent from a phone, sorry for typos)'],
  ['<<sent by galaxy>>'],
  ['Sent from my cell. Please excuse any typos.'],
  ['Sent from my Fairphone 5 black edition'],
  ['Sent from SomeApp <https://app.example/x>'],
  ['ᐧ'],
  ['Get Outlook for iOS<https://aka.ms/example>'],
  ['Télécharger Outlook pour Android<https://aka.ms/example>'],
  ['Hämta Outlook för iOS'],
  ['Von meinem iPhone gesendet'],
  ['Gesendet mit der GMX Mail App'],
  ['Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.'],
  ['Envoyé de mon iPhone'],
  ['Enviado desde mi iPhone'],
  ['Enviado do meu iPhone'],
  ['Inviato da iPhone'],
  ['Verstuurd vanaf mijn iPhone'],
  ['Skickat från min iPhone'],
  ['Sendt fra min iPhone'],
  ['Lähetetty iPhonesta\nLähetetty laitteesta iPad'],
  ['Wysłane z iPhone’a'],
  ['Odesláno z iPhonu\nOdesláno z mobilu iPhone'],
  ['Отправлено с iPhone'],
  ['Отправлено из мобильной Почты Mail.ru'],
  ['Отправлено из мобильного приложения Яндекс Почты'],
  ['iPhone’umdan gönderildi'],
  ['iPhoneから送信'],
  ['发自我的iPhone'],
  ['從我的 iPhone 傳送'],
  ['나의 iPhone에서 보냄'],
  ['Outlook für Android herunterladen'],
  ['Outlook für iOS<https://aka.ms/example> beziehen'],
  ['Outlook voor iOS downloaden<https://aka.ms/example>'],
  ['iOS 版 Outlook を入手<https://aka.ms/example>'],
  ['Outlook for iOS を入手'],
  ['iOS için Outlook’u edinin<https://aka.ms/example>'],
  ['Envoyé avec la messagerie sécurisée Proton Mail.'],
  ['Provenance : Courrier pour Windows'],
  ['Yahoo Mail: Search, Organize, Conquer'],
  ['Von unterwegs gesendet'],
])('the line of a phone is removed: %s', (line) => {
  expect(visibleText(`Blue, please.\n\n${line}`)).toBe('Blue, please.')
  expect(visibleText(`Blue, please.\n\n${line}\n\nOn 2 Mar 2026, at 10:12, Desk <d@e.example> wrote:\n\n> Which colour?`)).toBe(
    'Blue, please.',
  )
})

describe('what a person wrote stays', () => {
  test.each([
    ['an answer below the quote and the signature', '-- \nAnn\n\n> Which colour?\n\nBlue, please.', 'Blue, please.'],
    [
      'answers between quotes, below a signature',
      'See below.\n\n-- \nAnn\n\n> Which?\nBlue.\n> How many?\nTwelve.',
      'See below.\n\nBlue.\nTwelve.',
    ],
    ['a line above an introduction without an empty line', 'Kiitos\n2.3.2026 10.12 Desk <d@e.example> kirjoitti:\n> Vanha', 'Kiitos'],
    ['words on the line of an introduction', 'ok On 4 Apr 2026 at 3:59 PM, desk@shop.example wrote:\n> Which?', 'ok'],
    ['text with arrows around it', 'Look:\n>>> the new chair <<<\nNice.', 'Look:\n>>> the new chair <<<\nNice.'],
    ['below a line of dashes', 'First.\n----------\nSecond.', 'First.\n----------\nSecond.'],
    [
      'a long text below two dashes',
      `First.\n--\n${'A line of mine.\n'.repeat(11)}`,
      `First.\n--\n${'A line of mine.\n'.repeat(11)}`.trim(),
    ],
    ['a mail of which only quotes remain', '> Which colour?', '> Which colour?'],
    ['a forwarded mail without words above it', '---- Forwarded message ----\nFrom: Desk <d@e.example>\nTo: Ann\n\nOld', undefined],
    ['a list of places', 'Our train:\nDate: Monday\nFrom: Bern\nTo: Basel\nat nine.', undefined],
    ['a message about a message', 'From: is empty, To: too.\nSubject: the chairs', undefined],
    ['a sentence with an address and a time', 'Please write to Ann Lee <ann@x.example> until 10:30 with this list:\nchairs', undefined],
    ['a sentence with an address and a date', 'Until 2 March 2026 I can be reached at <ann@x.example> or here:\nBern', undefined],
    ['a sentence with a verb', 'This is what Desk wrote in 2024:\nchairs are blue.', undefined],
    ['a sentence with a weekday', 'On Monday you wrote:\nchairs are blue.', undefined],
    ['a sentence about sending', 'It is blue.\nSent from Bern, on Monday.', undefined],
    ['a sentence about sending a letter', 'It is blue.\nSent by mail from the phone shop.', undefined],
    ['a sentence about post', 'Le contrat est signé.\nEnvoyé par courrier recommandé', undefined],
    ['a sentence about post in Spanish', 'Firmado.\nEnviado por correo certificado', undefined],
    ['a sentence about sending on the way', 'Ja.\nDie Unterlagen habe ich unterwegs gesendet', undefined],
    ['a sentence about a program', 'Ich kann nicht antworten.\nSoll ich Outlook für Android herunterladen', undefined],
    ['a sentence about the program of a provider', 'Yahoo Mail: that is what I use, like you', undefined],
    ['a sentence about a desk', 'It is blue.\nSent from my desk, which is easier than with the phone.', undefined],
    [
      'a forwarded mail with a quote in it',
      '---- Forwarded message ----\nFrom: Desk <d@e.example>\nTo: Ann\n\nOld\n\n> Older',
      '---- Forwarded message ----\nFrom: Desk <d@e.example>\nTo: Ann\n\nOld',
    ],
    ['a sentence about a phone', 'I like it.\nGet me the phone number, please.', undefined],
    [
      'answers in a quoted mail without quote marks, if the sender says so',
      'My answers are in red.\n\nFrom: Desk <d@e.example>\nTo: Ann\nSubject: Offer\n\nWhich colour? Blue.\nHow many? Twelve.',
      undefined,
    ],
    ['a table', 'Here it is:\n| blue | 12 |\n| red | 3 |', undefined],
    ['a name above an answer', 'Desk:\nBlue, please.', undefined],
  ])('%s', (_, text, expected = text) => {
    expect(visibleText(text)).toBe(expected)
  })
})

test.each([
  ['lines that begin like introductions', 'On 1 wrote\n'],
  ['short introductions', 'On 1 a wrote:\n'],
  ['introductions of copies', 'On 1.1.2026 a wrote:\n'],
  ['introductions', 'On 1 Mar 2026 at 10:12 x <a@b.example> wrote:\n'],
  ['quoted ends', '> wrote:\n'],
  ['addresses', '<a@b.example>\n'],
  ['half addresses', '<a@ ('],
  ['colons', ':\n'],
  ['header fields', 'From: a\n'],
  ['fields of all kinds', 'Date: a\nTo: a@b\nSent: b\nSubject: c\n'],
  ['rules', '-----\n'],
  ['dashes', '-'],
  ['empty lines', ' \n'],
  ['quote marks', '>\n'],
  ['quote marks on a line', '> '],
  ['signatures', 'Sent from my iPhone\n'],
  ['delimiters', '--\na\n\n'],
  ['capital words', 'On '],
  ['answers', 'answers '],
  ['digits', '1 2.3 '],
  ['spaces in front', `${' '.repeat(300)}x:\n`],
])('the time is linear for a body of %s', (_, piece) => {
  // Takes 5 to 400 ms where this was written. The work of a quadratic search would take minutes.
  const text = `words\n${piece.repeat(200_000 / piece.length)}`
  const usedMs = cpuTime()
  visibleText(text)
  expect(usedMs()).toBeLessThan(3_000)
})

describe('flowed text', () => {
  test.each([
    ['joins lines that end with a space', 'one \ntwo\nthree', false, 'one two\nthree'],
    ['removes the space with DelSp', 'one \ntwo\nthree', true, 'onetwo\nthree'],
    ['joins quotes of the same depth only', '> a \n> b \nc \n>> d \n> e', false, '> a b\nc \n>> d\n> e'],
    ['keeps the delimiter of a signature', 'a\n-- \nAnn', false, 'a\n-- \nAnn'],
    ['removes stuffed spaces', '  indented\n From here', false, ' indented\nFrom here'],
    ['keeps the space before a typed >', ' > not a quote', false, ' > not a quote'],
    ['keeps empty lines', 'a \n\nb\n', false, 'a \n\nb\n'],
  ])('%s', (_, text, deleteSpace, expected) => {
    expect(unflowed(text, deleteSpace)).toBe(expected)
  })
})

test.each([
  ['a booking', 'From: 3 March\nTo: 5 March\nSubject: double room\nGuests: 2'],
  ['a journey', 'From: Bern\nTo: Basel\nDate: 3 March\nSubject: tickets'],
  ['a journey in German', 'Von: Bern\nAn: Basel\nBetreff: Fahrkarten\nPersonen: 2'],
  ['a journey with times', 'From: Bern 10:12\nTo: Basel 11:15\nSubject: tickets'],
  ['a transfer', 'From: our account\nTo: your account\nDate: 3 March 2026\nSubject: invoice 12'],
  ['an appointment', 'Please come on 3 March 2026, 10:12, and write to ann@customer.example:\nshe knows the way.'],
  ['an address and a time', '"Ann" <ann@customer.example> is there from March 3, 2026 10:12 AM\nand Bob later.'],
])('own lines that look like a header or an introduction stay: %s', (_, lines) => {
  const text = `Dear Desk,\n\n${lines}\n\nThanks`
  expect(visibleText(text)).toBe(text)
})

test('a text of which only invisible letters remain is shown whole', () => {
  expect(visibleText('\u200b\n\n> Which colour?')).toBe('\u200b\n\n> Which colour?')
})
