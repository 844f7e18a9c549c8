/**
 * The words by which mail programs mark what the sender did not write: introductions of quotes, headers of quoted mails, and the lines that
 * phones add. Add a language or a program here; `visible-text.ts` and `introduction.ts` have the rules. Phrases are parts of regular
 * expressions, separated by | or by lines.
 */

/** "wrote", in the forms that introductions use. */
export const WROTE = phrases(String.raw`
  wrote|writes
  schrieb|geschrieben
  a écrit|a ecrit|écrivait
  escribió|escribio|escribiu|ha escrito|va escriure|ha escrit|idatzi du
  escreveu|ha scritto|scrisse|a scris
  schreef|geschreven
  skrev|skreiv|har skrivit|har skrevet|kirjoitti|kirjutas
  napisał|napisała|napisał\(-?a\)|napisał/a|wiadomość napisana|pisze
  napsal|napsala|napsal\(a\)|napísal|napísala|napísal\(a\)|írta
  napisao je|napisala je|je napisao|je napisala|napisao/la je|je napisal|napisal|napisala|је написао|rašė|parašė|rakstīja
  написал|написала|написал\(-?[аa]\)|писал|писала|писал\([аa]\)|пишет
  пише|написав|написав\(ла\)|написа|напиша
  yazdı|έγραψε|έγραψαν|đã viết|menulis|sumulat|isinulat|ने लिखा|লিখেছেন|เขียนว่า
  כתב|כתבה|כתב/ה|كتب|كتبت|نوشت
  写道|寫道|写了|のメール|は書きました|が書きました|님이 작성|님이 작성함|쓴 글|작성
  लिहिले|લખ્યું|எழுதியது|எழுதினார்|రాశారు|రాసారు|ಬರೆದಿದ್ದಾರೆ|എഴുതി|نے لکھا
  aliandika|ameandika|het geskryf|geskryf|skrifaði|shkroi|ysgrifennodd`)

/** The words before the date or the name at the start of an introduction. */
export const OPENERS = phrases(String.raw`
  on|at|am|den|le|el|em|no dia|a|il|in data|il giorno|op|på|d\.|kl\.|w dniu|dnia|dne|dňa
  missatge de|în|la|pe|na|dana|no|vào|pada|στις|на|у|в|дана|בתאריך|ב-|في|在|mnamo`)

/** The words before the quoted person in programs that have no "wrote". */
export const QUOTING = phrases('quoting|quoted from|zitat von|citation de|citando a?|citazione|cytowanie|citerar|citat fra')

/** "Original message", "Forwarded message" and their like, between dashes. */
export const QUOTED_MAIL = phrases(`
  original (message|appointment|mail|e-?mail)|(reply|replied|previous) message|forwarded (message|mail|by)
  (ursprüngliche|weitergeleitete|antwort) (nachricht|mail)|original-?nachricht
  message d['’]origine|(message|mail|courriel) original|message transféré
  mensaje (original|reenviado)|mensagem (original|encaminhada|reencaminhada)|messaggio (originale|inoltrato)|mesaj (original|redirecționat)
  (oorspronkelijk|origineel|originele|doorgestuurd) bericht
  originalmeddelande|ursprungligt (meddelande|mail)|vidarebefordrat meddelande
  (oprindelig|original|videresendt) (meddelelse|besked)|(opprinnelig|videresendt) melding
  alkuperäinen viesti|(edelleen lähetetty|välitetty) viesti
  (oryginalna|przekazana) wiadomość|wiadomość (oryginalna|przekazana dalej)|treść oryginalnej wiadomości
  původní (zpráva|e-mail)|přeposlaná zpráva|(pôvodná|preposlaná) správa|(eredeti|továbbított) üzenet
  (izvorna|originalna|proslijeđena) poruka|izvirno sporočilo
  (исходное|пересылаемое|пересланное|оригинальное) сообщение|конец пересылаемого сообщения
  оригінальне повідомлення|пересилання листа|пересланий лист|оригинално съобщение
  (αρχικό|προωθημένο) μήνυμα|(orijinal|özgün) ileti|iletilen mesaj|הודעה מקורית|הודעה שהועברה|الرسالة الأصلية|thư gốc|pesan asli
  元のメッセージ|転送されたメッセージ|原始邮件|原始郵件|回复的原邮件|转发的邮件|转发邮件信息|轉寄郵件|원본 메시지|원본 메일|전달된 메시지`)

/** The lines above a forwarded mail in programs that use no dashes. */
export const FORWARDED_BELOW = phrases(`
  (begin|start of) forwarded message|(anfang|beginn) der weitergeleiteten (nachricht|e-mail)
  début du message (transféré|réexpédié)|inizio messaggio inoltrato|(inicio|comienzo) del mensaje reenviado
  início da mensagem (encaminhada|reencaminhada)|begin doorgestuurd bericht
  vidarebefordrat brev|början på vidarebefordrat mejl|(start på )?videresendt (besked|melding)|välitetty viesti alkaa
  początek przekazanej wiadomości|přeposlaná zpráva|начало переадресованного (письма|сообщения)
  転送されたメッセージ|下面是被转发的邮件|开始转发邮件|전달된 메시지`)

/** The names of the header fields that mail programs write above a quoted mail. */
export const FIELDS = {
  from: phrases(`
    from|von|de|da|van|från|fra|lähettäjä|saatja|od|feladó|de la|от|от кого|від|від кого|από|kimden|gönderen|מאת|من|từ|dari
    差出人|送信元|发件人|寄件者|寄件人|보낸 ?사람`),
  subject: phrases(`
    subject|betreff|objet|sujet|asunto|assunto|oggetto|onderwerp|ämne|emne|aihe|teema|temat|předmět|predmet|tárgy|subiect
    тема|относно|θέμα|konu|נושא|الموضوع|chủ đề|subjek|件名|主题|主旨|主題|제목`),
  /** Only mails are sent. */
  sent: phrases(`
    sent|gesendet|gesendet am|envoyé|envoyé le|message du|enviado|enviado el|enviad[oa] em|inviato|verzonden|skickat|sendt|lähetetty
    wysłano|odesláno|odoslané|küldve|trimis|poslano|poslato|отправлено|надіслано|изпратено|στάλθηκε|gönderildi|gönderme tarihi|נשלח
    送信日時|发送时间|寄件日期|傳送日期|보낸 ?날짜`),
  date: phrases(`
    date|datum|fecha|data|dato|päivämäärä|kuupäev|dátum|dată|дата|ημερομηνία|tarih|תאריך|التاريخ|ngày|tanggal|日時|日付|日期|날짜`),
  to: phrases(`
    to|an|à|a|para|per|aan|till|til|vastaanottaja|saaja|do|dla|komu|címzett|către|za|prima|кому|до|προς|kime|alıcı|אל|إلى|đến|kepada
    宛先|收件人|收件者|받는 ?사람|cc|kopie|kopia|kopi|copie|copie à|копия|копія|reply-to|répondre à|抄送|副本|참조`),
} as const

/** The sender says that answers stand in the quoted mail, where nothing marks them. */
export const ANSWERS_BELOW = phrases(`
  (answer|comment|repl|respon|remark|note)\\w* (are |is |see )?(in-?line|below|in (red|blue|green|bold|capitals|caps))
  (see|answered|replied|commented) in-?line
  (antwort|kommentar|anmerkung)\\w* (siehe |stehen |sind )?(unten|(weiter )?unten im text|in (rot|blau|grün|fett))
  réponses? (ci-dessous|en rouge|en bleu|dans le texte)
  respuestas? (abajo|más abajo|en rojo|en azul)|risposte (sotto|qui sotto|in rosso|nel testo)
  antwoord\\w* (hieronder|in (rood|blauw)|in de tekst)`)

/** "Sent from", at the start of the line that a phone or a program adds. */
export const SENT_FROM = phrases(`
  sen[td] (from|via|with|by|on|using)|(composed|written|typed) (on|with)|from my
  gesendet (von|mit|über|via)|von meine[mr]|diese nachricht wurde (von|mit)
  envoyé (de|depuis|avec|par|à partir d[e’'])|provenance
  enviad[oa] (desde|do|de|da|a partir do|com|con|por|pelo)|inviato (da|dal|con|tramite)|trimis (de|din)
  (verzonden|verstuurd) (vanaf|met|via|door|van)
  (skickat|skickad|skickas|sänt) från|sendt (fra|med|via)|lähetetty|saadetud
  wysłan[eyo] z|wysłano (z|za)|odesl[áa]no (z|pomocí)|odoslané z|elküldve|posla[nt]o (s|sa|z)
  отправлено (с|из|от)|надіслано (з|із)|изпратено от|στάλθηκε από|αποστολή από|נשלח מ|تم الإرسال من|أرسلت من|được gửi từ|dikirim dari
  发自|發自|從我的|从我的|来自我的|나의|내`)

/** The same at the end of the line. */
export const SENT_FROM_AT_END = phrases(`
  gesendet|gönderildi|lähetetty|küldve|から送信|より送信|傳送|传送|发送|에서 보냄|보냄`)

/** The devices and programs of such lines. */
export const DEVICES = phrases(String.raw`
  phone|iphon\p{L}*|ipad\p{L}*|ipod|ios|android|mobile|mobil\p{L}*|móvil|celular|cell|handy|smartphone|tablet|tablette|device|gerät
  puhelime\p{L}*|laitteesta|telefon\p{L}*|téléphone|teléfono|telefoon|dispositivo|appareil|телефон\p{L}*|мобильн\p{L}*|мобільн\p{L}*
  устройства|пристрою|手机|手機|スマホ|휴대폰|아이폰
  galaxy|samsung|huawei|xiaomi|redmi|oppo|oneplus|nokia|htc|sony|xperia|pixel|motorola|alcatel|blackberry
  courrier pour windows|messagerie sécurisée
  windows|macbook|mac|laptop|mailbox|airmail|outlook|hotmail|gmail|yahoo|aol|proton\p{L}*|spark
  thunderbird|k-9|fairemail|bluemail|zoho|gmx|web\.de|mail\.ru|yandex|яндекс\p{L}*|почты|пошти|superhuman|missive|tutanota`)

/** What people add to such a line. */
export const APOLOGIES = phrases(`
  excuse|sorry|apolog|forgive|pardon|typo|brevity|terse|entschuldig|verzeih|tippfehler|désolé|fautes|disculp|perdon|desculp|scus
  errori|excuses|ursäkta|beklager`)

/** "Get", before the name of a mail program. */
export const GET_PROGRAM = phrases(`
  get|download|holen sie sich|laden sie|hol dir|télécharge[rz]|obtenez|obtenir|obtener|obtén|descargar|obter|obtenha|baixar|baixe
  transferir|scarica|ottieni|haal|hämta|hent|skaff deg|få|hanki|pobierz|získejte|stáhnout|získajte
  скачать|скачайте|загрузить|получить|завантажити|отримати|下载|取得|获取`)

/** The same behind the name of the program and the system that it is for. */
export const GET_PROGRAM_AT_END = phrases(`
  herunterladen|laden|beziehen|holen|downloaden|edinin|indirin|letöltése|beszerzése|を入手|を取得|をダウンロード|가져오기|다운로드`)

/** Whole lines of programs and phones that name neither "sent from" nor a device. */
export const WHOLE_LINES = phrases(String.raw`
  yahoo mail ?[:–-] [^\s,]+, [^\s,]+, [^\s,]+
  (von )?unterwegs gesendet`)

function phrases(text: string): string {
  return text
    .trim()
    .split(/\s*\n\s*/)
    .join('|')
}
