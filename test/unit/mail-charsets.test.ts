/** The character sets of bodies, headers, file names and reports, by the names that mail programs give them. */
import { describe, expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'

const message = (...pieces: (string | Buffer)[]) =>
  Buffer.concat(
    ['From: Ann <ann@customer.example>\r\n', ...pieces].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
const hex = (text: string) => Buffer.from(text, 'hex')
const latin1 = (text: string) => Buffer.from(text, 'latin1')

/** Names, the bytes of a text, and the text. */
const SETS: [names: string, bytes: string, text: string][] = [
  ['cp949 uhc ks_c_5601-1987 KSC5601 x-windows-949 ms949 korean', 'bec8b3e7', '안녕'],
  ['iso-2022-kr csISO2022KR', '1b2429430e3e4833670f', '안녕'],
  ['cp936 ms936 GB_2312-80 gb2312 x-gbk euc-cn gb18030-2005 windows-936', 'c4e3bac3', '你好'],
  ['hz hz-gb-2312 HZ', '7e7b44633a437e7d', '你好'],
  ['iso-2022-cn', '1b2429410e44633a430f', '你好'],
  ['cp950 big5 big5-eten big5-hkscs x-x-big5 windows-950', 'a741a66e', '你好'],
  ['cp932 windows-31j x-sjis Shift_JIS sjis MS_Kanji ibm943 x-mac-japanese', '82b182f1', 'こん'],
  ['euc-jp eucJP-win eucJP-ms ujis cp51932 x-euc-jp', 'a4b3a4f3', 'こん'],
  ['iso-2022-jp iso-2022-jp-1 iso-2022-jp-2 iso-2022-jp-ms cp50220 cp50221 jis', '1b24422433244b1b2842', 'こに'],
  ['iso-2022-jp-2', '1b244224331b24414463 1b242843 3e48 1b242844 3021 1b2842 1b2e41 1b4e69'.replaceAll(' ', ''), 'こ你안丂é'],
  ['iso-2022-jp cp50222', '1b2849 31 32 1b2842 41'.replaceAll(' ', ''), 'ｱｲA'],
  ['cp-1251 cp1251 win-1251 windows1251 x-cp1251 ansi-1251 1251', 'cff0e8e2e5f2', 'Привет'],
  ['koi8-r KOI8-RU koi8u koi cp20866', 'f0d2c9d7c5d4', 'Привет'],
  ['ibm866 cp866 dos-866', '8fe0a8a2a5e2', 'Привет'],
  ['x-mac-cyrillic maccyrillic', '8ff0e8e2e5f2', 'Привет'],
  ['iso-8859-5 cyrillic ISO_8859-5:1988', 'bfe0d8d2d5e2', 'Привет'],
  ['latin9 iso-8859-15 latin-9 iso8859_15 latin0 l9 cp28605', 'a43530', '€50'],
  ['iso-8859-1 8859-1 ISO_8859-1:1987 latin1 l1 iso-ir-100 cp819 ISO8859_1', '4be47365', 'Käse'],
  ['latin2 iso-8859-2 ISO8859-2 l2', 'a3f364bc', 'Łódź'],
  ['cp1250 windows-1250', 'a3f3649f', 'Łódź'],
  ['iso-8859-7 greek elot_928', 'c3e5e9dc', 'Γειά'],
  ['iso-8859-8 iso-8859-8-i iso-8859-8-e hebrew logical', 'f9ecede5', 'שלםו'],
  ['cp1255', 'f9ecede5', 'שלםו'],
  ['macroman macintosh mac x-mac-roman x-macintosh', '666f726d8e', 'formé'],
  ['x-mac-ce maccenteuro x-mac-centraleurroman', '8e', 'é'],
  ['cp437 ibm437 cp850 IBM850 850 cp858 IBM-852', '4d816c6c6572', 'Müller'],
  ['utf-7 unicode-1-1-utf-7 cp65000', '4b2b414f512d7365', 'Käse'],
  ['utf8 UTF-8 cp65001 x-utf-8 utf8mb4', '4bc3a47365', 'Käse'],
  ['tis-620 tis620-2533 cp874 windows-874 iso-8859-11', 'cac7d1ca', 'สวัส'],
  ['viscii', '56e5', 'Vă'],
  ['koi8-t', 'f0', 'П'],
]
const CASES = SETS.flatMap(([names, bytes, text]) => names.split(' ').map((name): [string, string, string] => [name, bytes, text]))

describe.each(CASES)('%s is read', (name, bytes, text) => {
  test('in a body', async () => {
    const { visibleText } = await parseMail(message(`Content-Type: text/plain; charset="${name}"\r\n\r\n`, hex(bytes), '\r\n'))
    expect(visibleText).toBe(text.trim())
  })

  test('in a subject, a name and the name of a file', async () => {
    const word = (encoded: string, encoding = 'B') => `=?${name}?${encoding}?${encoded}?=`
    const base64 = hex(bytes).toString('base64')
    const quoted = bytes.replace(/../g, '=$&')
    const percent = bytes.replace(/../g, '%$&')
    const part = (fields: string) => `--b\r\n${fields}\r\n\r\nx\r\n`
    const mail = await parseMail(
      Buffer.from(
        [
          `From: ${word(quoted, 'Q')} <ann@customer.example>\r\nSubject: Re: ${word(base64)}\r\n`,
          'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
          part(`Content-Disposition: attachment; filename*=${name}''${percent}.pdf`),
          part(
            `Content-Type: application/pdf; name*0*=${name}'en'${percent.slice(0, 6)};\r\n name*1*=${percent.slice(6)};\r\n name*2=.pdf`,
          ),
          part(`Content-Disposition: attachment; filename="${word(base64)}.pdf"`),
          '--b--\r\n',
        ].join(''),
      ),
    )
    const shown = text.trim()
    expect([mail.subject, mail.from.name]).toEqual([`Re: ${shown}`, shown])
    expect(mail.attachments.map((file) => file.name.replace(' .pdf', '.pdf'))).toEqual(Array(3).fill(`${shown}.pdf`))
  })
})

test('a letter that is cut between two words, or two words of different sets, are whole', async () => {
  const halves = '=?cp949?B?vsiz?=\r\n =?CP949?B?5w==?='
  const { subject } = await parseMail(message(`Subject: ${halves} =?cp1251?Q?=CF?= =?utf-8?Q?=C3=A4?= x\r\n\r\n`))
  expect(subject).toBe('안녕Пä x')
})

test.each<[string, Buffer, string, string]>([
  ['in the Windows code page', latin1('Preis für Käse'), 'utf-8', 'Preis für Käse'],
  ['in the Windows code page, without a body that names one', latin1('Preis für Käse'), '', 'Preis für Käse'],
  ['in UTF-8', Buffer.from('Preis für 안녕'), 'iso-8859-1', 'Preis für 안녕'],
  ['in the Cyrillic set of the body', hex('cff0e8e2e5f2'), 'windows-1251', 'Привет'],
  ['in the Korean set of the body', hex('bec8b3e7'), 'cp949', '안녕'],
  ['in ISO-2022-JP', hex('1b24422433244b1b2842'), 'iso-2022-jp', 'こに'],
  ['in ISO-2022-JP, which nothing names', hex('1b24422433244b1b2842'), 'us-ascii', 'こに'],
])('bytes as they are in headers are read as the body is: %s', async (_, words, charset, expected) => {
  const type = charset && `; charset=${charset}`
  const mail = await parseMail(
    Buffer.concat([
      ...[Buffer.from('From: "'), words, Buffer.from('" <ann@customer.example>\r\nSubject: '), words],
      Buffer.from('\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'),
      Buffer.from(`--b\r\nContent-Type: text/plain${type}\r\n\r\nHello\r\n--b\r\nContent-Disposition: attachment; filename="`),
      ...[words, Buffer.from('.pdf"\r\n\r\nx\r\n--b--')],
    ]),
  )
  expect([mail.subject, mail.from.name, mail.attachments[0]?.name]).toEqual([expected, expected, `${expected}.pdf`])
})

test.each<[string, string, Buffer, string]>([
  [
    'a footer of another set is added to UTF-8',
    'utf-8',
    Buffer.concat([Buffer.from('Schöne Grüße, '), latin1('Käse')]),
    'Schöne Grüße, Käse',
  ],
  ['a letter of UTF-8 is cut at the end', 'utf-8', Buffer.concat([Buffer.from('Schöne Grüße '), hex('e282')]), 'Schöne Grüße'],
  ['a letter of two bytes is cut at the end', 'shift_jis', hex('82b182f182'), 'こん'],
  ['a program has lost a letter', 'iso-8859-1', Buffer.concat([Buffer.from('Stra\ufffde, '), latin1('K\xe4se')]), 'Stra\ufffde, Käse'],
  ['UTF-8 is called a Cyrillic set', 'windows-1251', Buffer.from('Привет'), 'Привет'],
  ['UTF-8 is called a Korean set', 'euc-kr', Buffer.from('안녕하세요'), '안녕하세요'],
  ['UTF-8 is called UTF-16', 'utf-16', Buffer.from('Käse'), 'Käse'],
  ['UTF-8 begins with its mark', 'iso-8859-2', Buffer.from('\ufeffŁódź'), 'Łódź'],
  ['a code page is called by the name of the standard', 'iso-8859-2', hex('8c77696174a3f3649f'), 'ŚwiatŁódź'],
  ['a set of eight bits is called one of seven', 'iso-2022-jp', hex('82b182f1'), 'こん'],
])('a body has no signs of a wrong set where %s', async (_, charset, body, expected) => {
  expect((await parseMail(message(`Content-Type: text/plain; charset=${charset}\r\n\r\n`, body))).visibleText).toBe(expected)
})

test('the fields of a report are read in their character set', async () => {
  const { report } = await parseMail(
    message(
      'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status; charset=cp949\r\n\r\n',
      'Reporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; bob@customer.example\r\nAction: failed\r\nStatus: 5.1.1\r\n',
      ...['Diagnostic-Code: smtp; 550 5.1.1 ', hex('bec8b3e7'), '\r\n--b--'],
    ),
  )
  expect(report?.recipients[0]?.diagnostic).toBe('550 5.1.1 안녕')
})

test.each([
  ['names of sets', `Subject: ${Array.from({ length: 20_000 }, (_, index) => `=?x${index}?Q?=E4?=`).join(' ')}\r\n\r\n`],
  ['unclosed quotes', `Content-Type: text/plain; name="${'\\"'.repeat(250_000)}\r\n\r\n`],
  ['sections', `Content-Type: text/plain${'; n*1*=a'.repeat(60_000)}\r\n\r\n`],
  ['lines that are no fields', `${'no field\r\n'.repeat(50_000)}Subject: x\r\n\r\n`],
  ['beginnings of words', `Subject: ${'=?utf-8?Q?'.repeat(50_000)}\r\n\r\n`],
])('a header of half a megabyte of %s is read in no time', async (_, header) => {
  const start = process.cpuUsage()
  await parseMail(Buffer.from(header))
  expect(process.cpuUsage(start).user / 1_000).toBeLessThan(4_000)
})

test.each(['base64', 'hex', 'quoted-printable', 'binary'])('a set that is named as the encoding %s is none', async (name) => {
  const { visibleText } = await parseMail(Buffer.from(`Content-Type: text/plain; charset=${name}\r\n\r\nSee you on 3 März`))
  expect(visibleText).toBe('See you on 3 März')
})
