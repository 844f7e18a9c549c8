/** Which messages count as written by a program, and which subjects as those of answers. */
import { describe, expect, test } from 'vitest'
import { readHeaders } from '../../src/email/headers.ts'
import { isAnswer, isAutomatic } from '../../src/email/reports/automatic.ts'

const isAutomaticMail = (header: string, subject = 'x', from = 'a@b.example') =>
  isAutomatic(readHeaders(Buffer.from(`${header}\r\n\r\n`)), { from, subject })

test.each<[string, boolean]>([
  ['Auto-Submitted: auto-replied', true],
  ['Auto-Submitted: auto-generated (failure)', true],
  ['Auto-Submitted: no', false],
  ['Precedence: bulk', true],
  ['Precedence: auto_reply', true],
  ['Precedence: list', false],
  ['X-Precedence: auto_reply', true],
  ['Preference: auto_reply', true],
  ['Preference: blue chairs', false],
  ['X-Autoreply: yes', true],
  ['X-Autorespond: vacation', true],
  ['X-Auto-Reply-From: <ann@b.example>', true],
  ['X-AutoReply-From: ann@b.example', true],
  ['X-Vacation: yes', true],
  ['X-Vacation: no', false],
  ['X-FC-MachineGenerated: true', true],
  ['X-FC-MachineGenerated: false', false],
  ['X-POST-MessageClass: 9; Autoresponder', true],
  ['X-POST-MessageClass: 1', false],
  ['Return-Path: <>', true],
  ['Return-Path: MAILER-DAEMON', true],
  ['Return-Path: <a@b.example>', false],
  ['X-Auto-Response-Suppress: OOF, AutoReply', false],
  ['X-Auto-Response-Suppress: All', false],
  ['X-Auto-Response-Suppress: DR, RN, NRN, OOF, AutoReply\r\nAuto-Submitted: auto-replied', true],
])('%j: %s', (header, expected) => {
  expect(isAutomaticMail(header)).toBe(expected)
})

describe('the subject of an automatic reply', () => {
  test.each([
    'Out of office',
    'OTOMATİK YANIT: teklif',
    'Jawapan automatik: Our offer',
    'Tự động trả lời: Our offer',
    'Out of Office: back on Monday',
    'out of the office – Ann Lee',
    'Out of Office AutoReply: Our offer',
    'Out of office (until 5 March)',
    'Automatic reply: Our offer',
    'Automatic reply Re: Our offer',
    '[External] Automatic reply: Our offer',
    'Auto-Response: Our offer',
    'Vacation reply',
    'AUTO: Ann Lee is out of the office (returning 05/03/2026)',
    'Abwesenheitsnotiz: Angebot',
    'Automatische Antwort: Angebot',
    'Réponse automatique : Notre offre',
    'Re\u0301ponse automatique: Notre offre',
    'Reponse automatique: Notre offre',
    'Automatikus válasz: Ajánlat',
    'Răspuns automat: Oferta',
    'Αυτόματη απάντηση: Προσφορά',
    'Automatski odgovor: Ponuda',
    'Samodejni odgovor: Ponudba',
    'Автоматична відповідь: Пропозиція',
    'Автоматичен отговор: Оферта',
    'Resposta automàtica: Oferta',
    'Automaatvastus: Pakkumine',
    'Automātiska atbilde: Piedāvājums',
    'Automatinis atsakymas: Pasiūlymas',
    'Sjálfvirkt svar: Tilboð',
    'Trả lời tự động: Báo giá',
    'Balasan otomatis: Penawaran',
    'ตอบกลับอัตโนมัติ: ใบเสนอราคา',
    'رد تلقائي: عرض',
    'מענה אוטומטי: הצעה',
    '自动答复: 报价',
    '自动回复：报价',
    '자동 응답: 견적',
    '자동 회신: 견적',
    '自動応答: 見積',
  ])('"%s" is one', (subject) => {
    expect(isAutomaticMail('X-Other: 1', subject)).toBe(true)
  })

  test.each([
    'Out of office furniture: 5 chairs',
    'Out-of-office-furniture: 5 chairs',
    'Out of offices',
    'Automatic reply-all is broken',
    'Automatic response times of the door',
    'Vacation replies',
    'Automatische Antworten einrichten',
    'Automatische Antwortfunktion: Angebot',
    'Fuori sede Milano: tre sedie',
    'Réponse automatique aux clients: devis',
    'Automatski odgovori za kupce',
    'Автоматична відповідь клієнтам: ціна',
    'Trả lời tự động cho khách hàng',
    '自动答复功能的报价',
    '자동 응답기 견적',
    'Re: is your out of office on?',
    'Re: Automatic reply: Our offer',
    'AW: Automatische Antwort: Angebot',
    'Which out of office: yours or mine?',
    'Auto: who is out of the garage?',
  ])('"%s" is that of a person', (subject) => {
    expect(isAutomaticMail('X-Other: 1', subject)).toBe(false)
  })
})

test.each(['mailer-daemon@b.example', 'postmaster@b.example', 'noreply@b.example'])('mail from %s is automatic', (from) => {
  expect(isAutomaticMail('X-Other: 1', 'Hello', from)).toBe(true)
})

test.each<[string, boolean]>([
  ['Re: Our offer', true],
  ['RE : Our offer', true],
  ['re[2]: Our offer', true],
  ['Re：报价', true],
  ['[EXTERNAL] Re: Our offer', true],
  ['AW: Angebot', true],
  ['Antw.: Aanbod', true],
  ['SV: Tilbud', true],
  ['Odp: Oferta', true],
  ['RÉP: Offre', true],
  ['Rif: Offerta', true],
  ['Ynt: Teklif', true],
  ['Απ: Προσφορά', true],
  ['回复：报价', true],
  ['答复: 报价', true],
  ['회신: 견적', true],
  ['Fwd: Our offer', true],
  ['WG: Angebot', true],
  ['Returned mail: see transcript for details', false],
  ['Reply: see the manual', false],
  ['Undeliverable: Re: Our offer', false],
  ['НА: наш вопрос', true],
  ['Ответ: вопрос', true],
  ['Trả lời: Our offer', true],
  ['Válasz: Our offer', true],
  ['ตอบกลับ: Our offer', true],
  ['إعادة توجيه: عرض', true],
  ['ΠΡΘ: Our offer', true],
  ['Svar: Our offer', true],
  ['Svarta stolar: Our offer', false],
  ['Delivery Status: failed', false],
  ['Our offer', false],
  ['', false],
])('the subject "%s" is that of an answer: %s', (subject, expected) => {
  expect(isAnswer(subject)).toBe(expected)
})
